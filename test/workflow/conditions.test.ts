/** Node conditions as faults, from the scan to the end of the attempt. */
import { afterEach, describe, expect, it } from 'vitest';
import { isoTime } from '../../lib/clock.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { addUsual, minute, World, type WorldOptions } from './world.ts';

let world: World;
let names: string[] = [];
const day = 24 * 60 * minute;

const yaml = (more = '') =>
  `conditions: [{ type: KernelDeadlock, status: True, minimumAge: 5m${more} }]\n`;

/** Ten old nodes, each with a detector that finds nothing. */
async function begin(options: WorldOptions): Promise<void> {
  world = new World(options);
  names = addUsual(world);
  for (const name of names) {
    world.cluster.operations.editNode(name, (node) => {
      node.metadata.creationTimestamp = isoTime(world.clock.now() - day);
    });
    say(name, 'False');
  }
  await world.start();
}
afterEach(() => world.stop());

/** What the detector on a node reports from now on. */
function say(name: string, status: string, reason = 'KernelHasNoDeadlock'): void {
  const now = isoTime(world.clock.now());
  world.cluster.operations.editNode(name, (node) => {
    const others = node.status.conditions?.filter(({ type }) => type !== 'KernelDeadlock') ?? [];
    const said = { type: 'KernelDeadlock', status, reason, message: 'task docker:1 blocked' };
    node.status.conditions = [
      ...others,
      { ...said, lastTransitionTime: now, lastHeartbeatTime: now },
    ];
  });
}

/** Lets time pass until an attempt has ended so; new nodes report so when they are Ready. */
async function untilOver(code: string, status: string, reason?: string): Promise<void> {
  const seen = new Set(names);
  for (let passed = 0; passed < 600 && !codes().includes(code); passed++) {
    await world.clock.run(10_000);
    for (const { metadata, status: said } of world.cluster.nodesOf('general')) {
      const ready = said.conditions?.find(({ type }) => type === 'Ready')?.status;
      if (seen.has(metadata.name) || ready !== 'True') continue;
      seen.add(metadata.name);
      say(metadata.name, status, reason);
    }
  }
}

const codes = () => world.outcomes.map(({ code }) => code);
const text = 'condition KernelDeadlock=True (DockerHung)';

describe('a node with a configured condition', () => {
  it('is isolated by default, and a person is told in words', async () => {
    await begin({ yaml: yaml() });
    const [bad = ''] = names;
    say(bad, 'True', 'DockerHung');
    await world.pass(5);
    expect(world.path).toEqual([]);
    await world.until(() => codes().length > 0);
    expect(codes()).toEqual(['ceiling-isolate']);
    expect(world.path).not.toContain('RestartDaemonPod');
    expect(world.path).not.toContain('TaintNode');
    expect(world.traces(bad)).toContain('mark');
    expect(world.traces(bad)).toContain('cordon');
    const [notice] = world.notices.filter(({ node }) => node === bad);
    expect(notice?.kind).toBe('alert');
    expect(notice?.body).toContain(`isolation for ${text}`);
    expect(notice?.body).toContain(`Fault: ${text} (blame node).`);
  });

  it('is replaced where the configuration allows it, without a restart', async () => {
    await begin({ yaml: yaml(', action: replace') });
    const [bad = ''] = names;
    say(bad, 'True', 'DockerHung');
    await untilOver('replaced', 'False');
    expect(codes()).toEqual(['replaced']);
    expect(world.node(bad)).toBeUndefined();
    expect(world.cluster.nodesOf('general')).toHaveLength(10);
    expect(world.path).not.toContain('RestartDaemonPod');
  });

  it('is released when the condition has ended for the pod grace and hold-up', async () => {
    await begin({ yaml: yaml(', action: replace') });
    const [bad = ''] = names;
    say(bad, 'True', 'DockerHung');
    await world.until(() => world.path.includes('WaitForRecovery'));
    await world.pass(2);
    say(bad, 'False');
    await world.pass(4);
    // A detector that restarts says so too.
    expect(world.traces(bad)).toContain('mark');
    await world.pass(20);
    expect(codes()).toEqual(['recovered']);
    expect(world.path).not.toContain('DrainNode');
    expect(world.traces(bad)).toEqual([]);
  });

  it('C98: stays isolated when its detector restarts and finds the fault again', async () => {
    await begin({ yaml: yaml(', action: replace') });
    const [bad = ''] = names;
    say(bad, 'True', 'DockerHung');
    await world.until(() => world.path.includes('WaitForRecovery'));
    await world.pass(2);
    say(bad, 'False');
    await world.pass(1);
    say(bad, 'True', 'DockerHung');
    await untilOver('replaced', 'False');
    expect(codes()).toEqual(['replaced']);
  });

  it('C98: does not close the case of a gap when the condition falls back', async () => {
    await begin({ yaml: yaml(', action: replace') });
    const [bad = ''] = names;
    say(bad, 'True', 'DockerHung');
    world.cluster.setFault({ node: bad, daemonSet: 'kube-system/aws-node' }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('WaitForRecovery'));
    say(bad, 'False');
    await untilOver('replaced', 'False');
    expect(codes()).toEqual(['replaced']);
  });

  it('is left alone in mode observe', async () => {
    await begin({ yaml: yaml(', action: replace'), mode: 'observe' });
    say(names[0] ?? '', 'True', 'DockerHung');
    await world.pass(30);
    expect(new Set(codes())).toEqual(new Set(['mode-observe']));
    expect(world.writes).toEqual([]);
  });

  it('is left alone, with an alert, where the configuration only allows one', async () => {
    await begin({ yaml: yaml(', action: alert') });
    say(names[0] ?? '', 'True', 'DockerHung');
    await world.pass(30);
    expect(world.path).toEqual([]);
    expect(world.notices.map(({ subject }) => subject)).toEqual([
      'nodegap: condition KernelDeadlock in prod',
    ]);
    expect(world.notices[0]?.body).toContain('code: ceiling-alert');
    expect(world.notices[0]?.body).toContain(
      `ondition KernelDeadlock=True (DockerHung) on node ${names[0]}`,
    );
  });

  it('goes no further than isolation when the condition came with the node', async () => {
    await begin({ yaml: yaml(', action: replace') });
    const [bad = ''] = names;
    say(bad, 'True', 'DockerHung');
    world.cluster.operations.editNode(bad, (node) => {
      node.metadata.creationTimestamp = isoTime(world.clock.now() - 5 * minute);
    });
    await world.until(() => codes().length > 0);
    expect(codes()).toEqual(['ceiling-isolate']);
    expect(world.outcomes[0]?.message).toContain('came while the node started');
    await world.pass(180);
    expect(world.path).not.toContain('DrainNode');
  });

  it('is not touched for pods that do not end', async () => {
    await begin({ yaml: yaml(', action: replace') });
    say(names[0] ?? '', 'True', 'PodStuckTerminating');
    await world.pass(60);
    expect(world.path).toEqual([]);
    expect(world.notices).toEqual([]);
  });

  it('leads to nothing when it came after the isolation, as through a drain', async () => {
    await begin({ yaml: yaml(', action: replace') });
    const [bad = ''] = names;
    const healsAt = world.clock.now() + 12 * minute;
    world.cluster.setFault(
      { node: bad, daemonSet: 'kube-system/aws-node' },
      { kind: 'sandbox', healsAt },
    );
    await world.until(() => world.path.includes('WaitForRecovery'));
    say(bad, 'True', 'PodsDoNotEnd');
    await world.until(() => codes().length > 0);
    expect(codes()).toEqual(['recovered']);
    expect(world.path).not.toContain('DrainNode');
  });

  it('is a bad replacement when the new node has it too, and then nobody is replaced', async () => {
    await begin({ yaml: yaml(', action: replace') });
    const [bad = '', other = ''] = names;
    say(bad, 'True', 'DockerHung');
    await untilOver('bad-replacement', 'True', 'DockerHung');
    const bads = world.outcomes.filter(({ code }) => code === 'bad-replacement');
    expect(bads[0]?.message).toContain(`shows the same fault: ${text}`);
    const removals = () => world.writes.filter((write) => write.startsWith('DELETE')).length;
    const before = removals();
    say(other, 'True', 'DockerHung');
    await world.pass(120);
    expect(removals()).toBe(before);
    expect(codes()).not.toContain('replaced');
    expect(world.node(other)).toBeDefined();
  });

  it('is not touched while its detector is silent', async () => {
    const silence = '2026-11-29T11:40:00Z';
    const silenced = (nodes: Node[]) =>
      nodes.map((node) => ({
        ...node,
        status: {
          ...node.status,
          conditions: (node.status.conditions ?? []).map((condition) =>
            condition.type === 'KernelDeadlock' && condition.status === 'True'
              ? { ...condition, lastHeartbeatTime: silence }
              : condition,
          ),
        },
      }));
    await begin({
      yaml: yaml(', action: replace'),
      wrap: ({ listNodesAt: _, ...client }) => ({
        ...client,
        listNodes: async () => silenced(await client.listNodes()),
      }),
    });
    say(names[0] ?? '', 'True', 'DockerHung');
    await world.pass(40);
    expect(world.path).toEqual([]);
  });
});

describe('half of the fleet with the same condition', () => {
  it('has one alert that blames the cluster, and no node is touched', async () => {
    await begin({ yaml: yaml(', action: replace') });
    for (const name of names.slice(0, 5)) say(name, 'True', 'DockerHung');
    await world.pass(60);
    expect(world.path).toEqual([]);
    expect(world.writes).toEqual([]);
    const alerts = world.notices.filter(({ subject }) => subject.includes('KernelDeadlock'));
    expect(alerts).toHaveLength(1);
    expect(alerts[0]?.body).toMatch(
      /^Condition KernelDeadlock=True .* on 5 nodes in cluster prod, /,
    );
    expect(alerts[0]?.body).toContain('code: blame-cluster');
    expect(alerts[0]?.body).toContain('5 of 10 nodes have condition KernelDeadlock=True');
  });
});

describe('a few nodes with the same condition', () => {
  it('open the breaker: all of them count as unhealthy', async () => {
    await begin({ yaml: yaml(', action: replace') });
    for (const name of names.slice(0, 3)) say(name, 'True', 'DockerHung');
    await world.pass(60);
    expect(world.path).not.toContain('IsolateNode');
    expect(world.notices.some(({ subject }) => subject.includes('breaker'))).toBe(true);
  });
});
