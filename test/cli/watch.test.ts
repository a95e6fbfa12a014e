/** `nodegap scan --watch` over HTTP against the simulated cluster, whose time the tests own. */
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeconfigConnection } from '../../lib/kubernetes/kubeconfig.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import { createTransport } from '../../lib/kubernetes/transport.ts';
import type { Watches } from '../../local/cluster/api/watches.ts';
import { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { WatchServer } from '../kubernetes/watch-server.ts';
import { dumpOf, nodegap, noon, type Run } from './run.ts';

const minute = 60_000;
const cni = 'kube-system/cni';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Watching {
  cluster: SimulatedCluster;
  watches: Watches;
  /** The names of the nodes. */
  nodes: string[];
  /** Lets that much virtual time pass in the cluster. */
  pass(ms: number): void;
  /** Resolves when a line that fits has been printed, on stdout or stderr. */
  line(fits: RegExp): Promise<string>;
  /** As Ctrl-C. */
  interrupt(): Promise<Run>;
  result: Promise<Run>;
}

interface Setup {
  args?: string[];
  prepare?(cluster: SimulatedCluster): void;
  columns?: number;
}

async function watching({ args = [], prepare, columns }: Setup = {}): Promise<Watching> {
  let now = Date.parse(noon);
  const clock = { now: () => now };
  const cluster = new SimulatedCluster({ clock, name: 'sim' });
  cluster.addPool('general', { nodes: 3 });
  cluster.addDaemonSet({ name: 'cni', priorityClassName: 'system-node-critical' });
  now = cluster.settle();
  prepare?.(cluster);
  const watches = cluster.watches();
  const served = await cluster.serve({ watches });
  cleanups.push(() => served.close());
  const transport = createTransport({ server: served.url });
  let interrupt: () => void = () => undefined;
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const result = nodegap(['scan', '--watch', ...args], {
    clock,
    ...(columns === undefined ? {} : { columns }),
    onWrite(text) {
      lines.push(...text.split('\n').filter((each) => each !== ''));
      for (const wake of waiting) wake();
    },
    onInterrupt(listener) {
      interrupt = listener;
      return () => undefined;
    },
    connect: async () =>
      ({ name: 'sim', transport, reader: createReader(transport) }) as KubeconfigConnection,
  });
  const ended = result.then(() => {
    for (const wake of waiting) wake();
  });
  let running = true;
  void ended.then(() => {
    running = false;
  });
  return {
    cluster,
    watches,
    nodes: cluster.list('nodes').map(({ metadata }) => metadata.name),
    pass(ms) {
      now += ms;
      cluster.advanceTo(now);
    },
    result,
    async line(fits) {
      for (;;) {
        const found = lines.find((each) => fits.test(each));
        if (found !== undefined) return found;
        if (!running) throw new Error(`ended without ${fits}:\n${lines.join('\n')}`);
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
    interrupt() {
      interrupt();
      return result;
    },
  };
}

/** Runs the command against an empty cluster that answers as prepared; `end` is Ctrl-C after a line. */
async function against(
  prepare: (server: WatchServer, end: (after: RegExp) => void) => void,
): Promise<Run> {
  const server = await new WatchServer().start();
  const transport = createTransport({ server: server.url });
  cleanups.push(() => server.close());
  let after: RegExp | undefined;
  let interrupt: () => void = () => undefined;
  prepare(server, (line) => {
    after = line;
  });
  return nodegap(['scan', '--watch'], {
    onWrite(text) {
      if (after?.test(text) === true) interrupt();
    },
    onInterrupt(listener) {
      interrupt = listener;
      return () => undefined;
    },
    connect: async () =>
      ({ name: 'sim', transport, reader: createReader(transport) }) as KubeconfigConnection,
  });
}

/** The objects of NDJSON. */
function objects({ out }: Run): Record<string, unknown>[] {
  return out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('nodegap scan --watch', () => {
  it('prints what opens and closes, and ends with a summary and the exit code of a scan', async () => {
    const { cluster, nodes, line, pass, interrupt } = await watching();
    const [node = ''] = nodes;
    await line(/ follows +sim: 3 nodes, 3 pairs: no gaps$/);
    cluster.setFault({ node, daemonSet: cni }, { kind: 'crash-loop' });
    pass(3 * minute);
    const opened = await line(/ opened /);
    expect(opened).toMatch(
      new RegExp(`^\\S+Z opened {3}${node} {2}${cni} {2}crash-loop, blame \\w+: container `),
    );
    const { code, out, err } = await interrupt();
    expect(err).toBe('');
    expect(out.trimEnd().split('\n')).toHaveLength(3);
    expect(out).toMatch(
      / ended {4}sim: 1 gap, \d to act on, after \w+; \d+ requests?, [\d.]+ [kM]?B, \d+ changes?, judged \d+ times\n$/,
    );
    expect(code).toBe(/ 1 to act on/.test(out) ? 2 : 0);
  });

  it('prints an object a line with -o json', async () => {
    const { cluster, nodes, line, pass, interrupt } = await watching({ args: ['-o', 'json'] });
    const [node = ''] = nodes;
    await line(/"summary"/);
    cluster.setFault({ node, daemonSet: cni }, { kind: 'image-pull' });
    pass(2 * minute);
    await line(/"opened"/);
    cluster.clearFault({ node, daemonSet: cni });
    pass(10 * minute);
    await line(/"closed"/);
    const [first, ...rest] = objects(await interrupt());
    expect(first).toEqual({
      type: 'summary',
      at: expect.stringMatching(/Z$/),
      cluster: 'sim',
      nodes: 3,
      eligiblePairs: 3,
      gaps: 0,
      passing: 0,
      actionable: 0,
      unknown: 0,
    });
    const opened = rest.find(({ type }) => type === 'opened');
    expect(opened).toMatchObject({ node, daemonSet: cni, cause: 'image-pull', before: false });
    expect(rest.find(({ type }) => type === 'closed')).toMatchObject({
      node,
      closing: 'recovered',
      openSeconds: expect.any(Number),
    });
    expect(rest.at(-1)).toMatchObject({
      type: 'summary',
      gaps: 0,
      cost: { requests: expect.any(Number), bytes: expect.any(Number), relists: 0 },
    });
  });

  it('shows what is open at the start, and exits with 2 for it', async () => {
    const { nodes, line, interrupt } = await watching({
      prepare(cluster) {
        const node = cluster.list('nodes')[0]?.metadata.name ?? '';
        cluster.operations.stopKubelet(node);
        cluster.settle();
      },
      args: ['--strict'],
    });
    const open = await line(/ open {5}/);
    expect(open).toContain(`${nodes[0]}  ${cni}  node-not-ready`);
    const { code } = await interrupt();
    expect(code).toBe(2);
  });

  it('lists again when the past is gone, and tells what happened meanwhile', async () => {
    const { cluster, watches, nodes, line, pass, interrupt } = await watching({
      args: ['-o', 'json'],
    });
    const [node = ''] = nodes;
    await line(/"summary"/);
    let refused = true;
    cluster.onRequest(() => (refused ? { kind: 'refuse', status: 503 } : undefined));
    watches.drop('cut');
    await line(/"unknown".*"not-followed"/);
    cluster.setFault({ node, daemonSet: cni }, { kind: 'crash-loop' });
    pass(3 * minute);
    watches.compact();
    refused = false;
    await line(/"resync"/);
    await line(/"opened"/);
    const told = objects(await interrupt());
    expect(told.map(({ type }) => type)).toEqual([
      'summary',
      'unknown',
      'resync',
      'opened',
      'summary',
    ]);
    expect(told[1]).toMatchObject({ kinds: ['nodes', 'DaemonSets', 'pods'] });
    // NodeClaims may come back later than the three that were waited for.
    expect([3, 4]).toContain((told.at(-1) as { cost?: { relists?: number } }).cost?.relists);
  });

  it('says an outage on stderr, in one line', async () => {
    const { cluster, watches, line, interrupt } = await watching();
    await line(/follows/);
    cluster.onRequest(() => ({ kind: 'refuse', status: 503 }));
    watches.drop('cut');
    await line(/unknown/);
    const { err, out } = await interrupt();
    expect(err).toMatch(
      /^\S+Z unknown {2}nodes, DaemonSets and pods: .*; nothing is known until they can be followed again\n$/,
    );
    expect(out).toContain('no gaps when it was last known');
  });

  it('goes on where it was when the server ends its watches in order', async () => {
    const { watches, cluster, nodes, line, pass, interrupt } = await watching({
      args: ['-o', 'json'],
    });
    await line(/"summary"/);
    watches.bookmark();
    watches.drop('end');
    const [node = ''] = nodes;
    cluster.setFault({ node, daemonSet: cni }, { kind: 'crash-loop' });
    pass(3 * minute);
    await line(/"opened"/);
    expect(objects(await interrupt()).at(-1)).toMatchObject({ cost: { relists: 0 } });
  });

  it('says which right is missing when it may not watch', async () => {
    const { result } = await watching({
      prepare: (cluster) =>
        cluster.authorizeBy((_identity, verb, resource) => verb !== 'watch' || resource !== 'pods'),
    });
    const { code, out, err } = await result;
    expect(code).toBe(1);
    expect(out).toBe('');
    expect(err).toMatch(
      /^error: not allowed to watch pods: .*\nhint: --watch needs the verb watch .*\n$/,
    );
  });

  it('ends with one error when a watch is answered with a page, and prints nothing more', async () => {
    const { code, out, err } = await against((server) => {
      const page = { status: 200, body: 'log in', headers: { 'content-type': 'text/html' } };
      server.refuseWatch.push(page, page, page, page);
    });
    expect(code).toBe(1);
    expect(out).toBe('');
    expect(err).toMatch(
      /^error: the watch of \S+ was answered with text\/html in place of application\/json\nhint: .*\n$/,
    );
  });

  it('tells what complete lists show where no watch stands', async () => {
    const { code, out, err } = await against((server, end) => {
      server.refuseWatch.push(...Array.from({ length: 100 }, () => ({ status: 200, body: {} })));
      end(/ follows /);
    });
    expect(err).toBe('');
    expect(out).toMatch(
      / follows {2}sim: 0 nodes, 0 pairs: no gaps\n.* ended .* when it was last known, /,
    );
    expect(code).toBe(0);
  });

  it('goes on without NodeClaims where they may not be watched', async () => {
    const { line, interrupt } = await watching({
      prepare: (cluster) =>
        cluster.authorizeBy((_identity, _verb, resource) => resource !== 'nodeclaims'),
    });
    await line(/follows/);
    const { code } = await interrupt();
    expect(code).toBe(0);
  });

  it('is an error when it is ended before it knows anything', async () => {
    const asked = Promise.withResolvers<void>();
    const { interrupt } = await watching({
      prepare: (each) =>
        each.onRequest(() => {
          asked.resolve();
          return new Promise(() => undefined);
        }),
    });
    await asked.promise;
    const { code, out, err } = await interrupt();
    expect(err).toBe('error: ended before the cluster had been read once\n');
    expect(out).toBe('');
    expect(code).toBe(1);
  });
});

describe('options of scan', () => {
  it.each([
    [
      ['--watch', '--file', dumpOf('C30')],
      '--watch does not go with --file: a dump does not change',
    ],
    [['--watch', '--now', noon], '--watch does not go with --now: a live cluster is judged'],
    [['--watch', '-o', 'table'], '--watch does not go with -o table'],
    [['--watch', '-o', 'yaml'], '--watch does not go with -o yaml'],
    [['--all', '--file', dumpOf('C30')], '--all goes with --watch only'],
  ])('%j are refused in one line', async (args, message) => {
    const { code, out, err } = await nodegap(['scan', ...args]);
    expect(code).toBe(1);
    expect(out).toBe('');
    expect(err.split('\n')[0]).toContain(`error: ${message}`);
  });
});
