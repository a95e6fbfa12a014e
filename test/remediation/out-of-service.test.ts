import { describe, expect, it } from 'vitest';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { outOfServiceAdvice } from '../../lib/remediation/out-of-service.ts';
import { node } from './builders.ts';
import { machine } from './machine-samples.ts';

function withReady(status: string, of: Node = node()): Node {
  return { ...of, status: { conditions: [{ type: 'Ready', status }] } };
}
const silent = withReady('Unknown');
const line = 'kubectl taint nodes n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute';

describe('C94: the out-of-service taint', () => {
  it('may be set by a person once EC2 shows the machine as terminated', () => {
    const gone = machine({ state: 'terminated' });
    expect(outOfServiceAdvice({ node: silent, machine: gone, volumes: ['pvc-1'] })).toContain(line);
  });

  it.each(['running', 'shutting-down', 'stopping', 'stopped', 'pending'] as const)(
    'is advised against while the machine is %s',
    (state) => {
      const advice = outOfServiceAdvice({
        node: silent,
        machine: machine({ state }),
        volumes: ['pvc-1'],
      });
      expect(advice).toMatch(/^do not set node.kubernetes.io\/out-of-service on n1/);
      expect(advice).toContain(`as ${state}, not terminated`);
      expect(advice).not.toContain('kubectl');
    },
  );

  it('is advised against when nobody could ask EC2', () => {
    const advice = outOfServiceAdvice({ node: silent, machine: undefined, volumes: ['pvc-1'] });
    expect(advice).toMatch(/does not show the machine as terminated/);
    expect(advice).not.toContain('kubectl');
  });

  it('is not spoken of where the node is gone, is Ready, has it, or nothing hangs on it', () => {
    const gone = machine({ state: 'terminated' });
    const volumes = ['pvc-1'];
    expect(outOfServiceAdvice({ node: undefined, machine: gone, volumes })).toBeUndefined();
    expect(outOfServiceAdvice({ node: withReady('True'), machine: gone, volumes })).toBeUndefined();
    const taint = { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' };
    const tainted = withReady('Unknown', node({ taints: [taint] }));
    expect(outOfServiceAdvice({ node: tainted, machine: gone, volumes })).toBeUndefined();
    expect(outOfServiceAdvice({ node: silent, machine: machine(), volumes: [] })).toBeUndefined();
  });
});
