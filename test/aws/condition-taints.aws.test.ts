/** Condition taints as the functions are deployed: state in DynamoDB, rights of the role. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TaintConditionsResult } from '../../functions/taint-conditions.ts';
import { isoTime } from '../../lib/clock.ts';
import { type Account, openAccount, region } from './account.ts';
import { cluster, type Installation, install } from './installation.ts';
import { rightsProblems } from './rights.ts';

const key = 'nodegap.dev/condition-cni';

let aws: Account;
let nodegap: Installation;
beforeAll(async () => {
  aws = await openAccount();
  nodegap = await install(aws, {
    prefix: 'condition-taints',
    yaml: `clusters:
  - { name: ${cluster}, region: ${region}, mode: act }
conditionTaints:
  - { name: cni, type: CNIUnwell, status: True, minimumAge: 0s, holdDown: 0s, holdUp: 0s }
`,
    build: (simulated) => {
      simulated.addPool('general', { nodes: 4, zones: ['eu-west-1a'] });
      simulated.addDaemonSet({
        name: 'aws-node',
        priorityClassName: 'system-node-critical',
        tolerations: [{ operator: 'Exists' }],
      });
    },
  });
});
afterAll(async () => {
  await nodegap.close();
  await aws.close();
});

function say(name: string, status: string): void {
  nodegap.cluster.operations.editNode(name, (node) => {
    const now = isoTime(Date.now());
    const others = node.status.conditions?.filter(({ type }) => type !== 'CNIUnwell') ?? [];
    const said = { type: 'CNIUnwell', status, lastTransitionTime: now, lastHeartbeatTime: now };
    node.status.conditions = [...others, said];
  });
}

it('puts a taint on, holds the next one back with one notice, and takes it off', async () => {
  const run = () => nodegap.call<TaintConditionsResult>('taint-conditions', { cluster });
  const names = nodegap.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
  const bearers = () =>
    nodegap.cluster
      .nodesOf('general')
      .filter(({ spec }) => spec.taints?.some((taint) => taint.key === key)).length;
  const [first = '', second = ''] = names;
  say(first, 'True');
  say(second, 'True');
  expect(await run()).toMatchObject({ outcome: 'acted', added: 1, refused: 1 });
  expect(bearers()).toBe(1);
  expect(nodegap.metrics).toContain(`ConditionTaintsAdded ${cluster} 1`);
  // Again is the same as once.
  expect(await run()).toMatchObject({ outcome: 'acted', added: 0, removed: 0, refused: 1 });
  const sightings = () => nodegap.ports.table.query(`cluster#${cluster}`, 'condition-sighting#');
  expect(await sightings()).toHaveLength(1);
  const told = await nodegap.ports.table.get({
    pk: `cluster#${cluster}`,
    sk: 'condition-taints-told',
  });
  expect(told).toMatchObject({ until: expect.any(Number) });

  for (const name of names) say(name, 'False');
  expect(await run()).toMatchObject({ outcome: 'acted', removed: 1, refused: 0 });
  expect(bearers()).toBe(0);
  await run();
  expect(await sightings()).toEqual([]);
}, 120_000);

it('needs every right of its role, and no other', () => {
  expect(rightsProblems(aws, 'condition-taints', ['taint-conditions'])).toEqual([]);
});
