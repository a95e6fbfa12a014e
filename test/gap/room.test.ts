import { describe, expect, it, test } from 'vitest';
import { quantityOf, withRoom } from '../../lib/gap/room.ts';
import { gapOn, node, pod } from './build.ts';
import { failed, otherNodes, unschedulable } from './cause-cases.ts';

const finding = {
  cause: 'unschedulable-resources' as const,
  message: 'no room',
  evidence: [],
};
const machine = (allocatable: Record<string, string>) => {
  const one = node('n1');
  one.status.allocatable = allocatable;
  return one;
};
const asking = (...requests: Record<string, string>[]) =>
  pod('n1', {
    spec: {
      containers: requests.map((each, i) => ({ name: `c${i}`, resources: { requests: each } })),
    },
  });

describe('withRoom', () => {
  it('says that a pod can never fit, which is its template', () => {
    const large = asking({ cpu: '1500m', memory: '1Gi' }, { cpu: '1' });
    expect(withRoom(finding, large, machine({ cpu: '2', memory: '1Gi' }))).toEqual({
      ...finding,
      message: 'no room; it asks for 1500m + 1 cpu and the node has 2 in all',
      evidence: [
        {
          object: `pod kube-system/${large.metadata.name}`,
          field: 'spec.containers[].resources.requests[cpu]',
          value: '1500m + 1',
          wouldChange: 'the template asks for less, or the node is larger',
        },
        { object: 'node n1', field: 'status.allocatable[cpu]', value: '2' },
      ],
      hint: 'template',
    });
  });

  it('counts sidecars, and not what runs one after the other', () => {
    const judge = (restartPolicy: string | undefined) =>
      withRoom(
        finding,
        pod('n1', {
          spec: {
            containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }],
            initContainers: [
              {
                name: 'setup',
                resources: { requests: { cpu: '2' } },
                ...(restartPolicy === undefined ? {} : { restartPolicy }),
              },
            ],
          },
        }),
        machine({ cpu: '2' }),
      ).hint;
    expect(judge('Always')).toBe('template');
    expect(judge(undefined)).toBeUndefined();
  });

  test.each([
    ['as much as there is', asking({ cpu: '2' }), { cpu: '2000m' }],
    ['a device', asking({ 'nvidia.com/gpu': '1' }), { 'nvidia.com/gpu': '0' }],
    ['nothing', asking({}), { cpu: '2' }],
    ['what cannot be read', asking({ cpu: '5' }, { cpu: 'much' }), { cpu: '2' }],
    ['something of a node that does not say', asking({ cpu: '5' }), {}],
  ])('says nothing of a pod that asks for %s', (_, asked, allocatable) => {
    expect(withRoom(finding, asked, machine(allocatable))).toBe(finding);
  });

  it('is asked for what scheduler and kubelet say, and for no other cause', () => {
    const judge = (parts: ReturnType<typeof failed>) => {
      for (const each of parts.nodes ?? []) each.status.allocatable = { cpu: '2' };
      for (const each of parts.pods ?? []) {
        each.spec.containers = [{ name: 'main', resources: { requests: { cpu: '3' } } }];
      }
      const { blame, message } = gapOn(parts);
      return { blame, impossible: message.endsWith('3 cpu and the node has 2 in all') };
    };
    const impossible = { blame: 'daemonset', impossible: true };
    expect(judge(unschedulable(`1 Insufficient cpu, ${otherNodes}`))).toEqual(impossible);
    expect(judge(failed('OutOfcpu'))).toEqual(impossible);
    expect(judge(failed('NodePorts')).impossible).toBe(false);
  });
});

describe('quantityOf', () => {
  test.each([
    ['2', 2],
    ['100m', 0.1],
    ['1.5', 1.5],
    ['.5', 0.5],
    ['1Ki', 1024],
    ['2Gi', 2 ** 31],
    ['3M', 3e6],
    ['5k', 5000],
    ['1e3', 1000],
    ['1E3', 1000],
    ['1E', 1e18],
    ['12E-1', 1.2],
    ['', undefined],
    ['x', undefined],
    ['1x', undefined],
    ['1 Gi', undefined],
    ['1constructor', undefined],
    [undefined, undefined],
  ])('reads %j as %d', (text, amount) => {
    if (amount === undefined) expect(quantityOf(text)).toBeUndefined();
    else expect(quantityOf(text)).toBeCloseTo(amount, 6);
  });
});
