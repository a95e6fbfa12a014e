import { expect, it } from 'vitest';
import { minute, now } from '../../gap/build.ts';
import { configOf, decide, nodeWith, says, tainted } from './sample.ts';

const hour = 60 * minute;
const over = {
  nodeUid: 'uid-n1',
  rule: 'cni',
  seen: 'over',
  since: now - hour,
  last: now,
} as const;

const verdictsOf = (node: ReturnType<typeof nodeWith>, yaml?: string) =>
  decide({ nodes: [node], remembered: [over] }, yaml === undefined ? undefined : configOf(yaml))
    .verdicts;

it('keeps a taint while the detector says that it cannot tell, however long', () => {
  expect(verdictsOf(tainted([says('Unknown', hour)]))).toMatchObject([
    {
      kind: 'keep',
      code: 'condition-unknown',
      message: 'CNIUnwell=Unknown (SocketThere): its detector cannot say',
    },
  ]);
  expect(verdictsOf(tainted([says('False', hour)]))).toMatchObject([{ kind: 'remove' }]);
});

it('is silent about a node without a taint of which the detector cannot tell', () => {
  expect(verdictsOf(nodeWith([says('Unknown', hour)]))).toEqual([]);
});

it('takes Unknown for the condition itself where the rule says so', () => {
  const yaml = 'conditionTaints: [{ name: cni, type: CNIUnwell, status: Unknown }]\n';
  expect(verdictsOf(tainted([says('Unknown', hour)]), yaml)).toMatchObject([
    { kind: 'keep', code: 'condition-taint-stands' },
  ]);
});
