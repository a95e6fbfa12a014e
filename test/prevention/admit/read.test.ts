import { beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../lib/config/load.ts';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { ClusterReader } from '../../../lib/ports.ts';
import { type AdmissionMemory, readAdmission } from '../../../lib/prevention/admit/read.ts';
import { daemonSet, minute, node, now, pod, second } from '../../gap/build.ts';

const { config } = loadConfig(
  'clusters:\n  - { name: prod, region: eu-west-1, mode: act }\nrequiredDaemonSets: [{ name: agent }]\n',
  'nodegap.yaml',
);
const taints = [{ key: 'nodegap.dev/startup-agent', effect: 'NoExecute' }];
const tainted = (count: number) =>
  Array.from({ length: count }, (_, index) => node(`n${index}`, { age: minute, taints }));

let asked: string[];
let memory: AdmissionMemory;
beforeEach(() => {
  asked = [];
  memory = {};
});

function readerOf(nodes: Node[], selects = true): ClusterReader {
  const list = <T>(name: string, items: T) => {
    asked.push(name);
    return Promise.resolve(items);
  };
  const quick = {
    listDaemonSetPodsOnNode: (name: string) => list(`pods on ${name}`, [pod(name)]),
    listPodsOf: () =>
      list(
        'pods of agent',
        nodes.map(({ metadata }) => pod(metadata.name)),
      ),
  };
  return {
    listNodes: () => list('nodes', nodes),
    ...(selects ? { listUninitialisedNodes: () => list('young nodes', nodes) } : {}),
    listDaemonSets: () => list('daemonsets', [daemonSet()]),
    quick,
  } as unknown as ClusterReader;
}

const read = (reader: ClusterReader, at: number) =>
  readAdmission(reader, memory, config, { leaving: new Map(), installation: 'here', now: at });

describe('a pass', () => {
  it('reads all at first, and then only what can have changed', async () => {
    const reader = readerOf(tainted(1));
    await read(reader, now);
    expect(asked.splice(0)).toEqual(['nodes', 'daemonsets', 'pods on n0']);
    await read(reader, now + 5 * second);
    expect(asked.splice(0)).toEqual(['young nodes', 'pods on n0']);
    await read(reader, now + minute);
    expect(asked.splice(0)).toEqual(['nodes', 'daemonsets', 'pods on n0']);
  });

  it('lists DaemonSets again while none that is known stands behind a taint', async () => {
    const unowned = node('n1', {
      taints: [{ key: 'nodegap.dev/startup-other', effect: 'NoSchedule' }],
    });
    await read(readerOf(tainted(1)), now);
    asked = [];
    await read(readerOf([unowned]), now + 5 * second);
    expect(asked).toContain('daemonsets');
  });

  it('lists all nodes for a while after an admission, since the taint may come back', async () => {
    const reader = readerOf(tainted(1));
    await read(reader, now);
    memory.admittedAt = now;
    asked = [];
    await read(reader, now + 29 * second);
    await read(reader, now + 31 * second);
    expect(asked.filter((each) => each.includes('nodes'))).toEqual(['nodes', 'young nodes']);
  });

  it.each([
    [10, 10],
    [11, 1],
    [500, 1],
  ])('asks for the pods of %i nodes in %i lists', async (count, lists) => {
    const { pods } = await read(readerOf(tainted(count)), now);
    expect(asked.filter((each) => each.startsWith('pods'))).toHaveLength(lists);
    expect(pods).toHaveLength(count);
  });

  it('asks for no pods and no DaemonSets where no node bears a startup taint', async () => {
    const { nodes } = await read(readerOf([node('n1')]), now);
    expect(nodes).toEqual([]);
    expect(asked).toEqual(['nodes']);
  });

  it('asks for no pods of a node that waits for something else', async () => {
    await read(readerOf([node('n1', { taints, conditions: [] })]), now);
    expect(asked).toEqual(['nodes', 'daemonsets']);
  });

  it('lists all nodes each time where the reader cannot select', async () => {
    const reader = readerOf(tainted(1), false);
    await read(reader, now);
    await read(reader, now + 5 * second);
    expect(asked.filter((each) => each === 'nodes')).toHaveLength(2);
  });
});
