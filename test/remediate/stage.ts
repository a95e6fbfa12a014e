/** A simulated cluster served over HTTP, and processes of `nodegap` that work on it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectFromKubeconfig } from '../../lib/kubernetes/kubeconfig.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { isolationAnnotation } from '../../lib/safety/ownership.ts';
import type { ServedCluster } from '../../local/cluster/api/http-server.ts';
import type { Fault } from '../../local/cluster/faults.ts';
import { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { nodegap, type Run } from '../cli/run.ts';
import { SharedClock } from './shared-clock.ts';

const program = join(import.meta.dirname, 'program.ts');
export const cni = 'kube-system/aws-node';
const scale = 10;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

/** A process of `nodegap`, as it runs. */
export class Running {
  readonly #child: ChildProcess;
  readonly #written = { out: '', err: '' };
  readonly ended: Promise<Ended>;
  readonly #watchers = new Set<() => void>();

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const [name, stream] of [
      ['out', child.stdout],
      ['err', child.stderr],
    ] as const) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#written[name] += text;
        for (const look of this.#watchers) look();
      });
    }
    this.ended = new Promise((resolve) => {
      child.on('close', (code, signal) => resolve({ code, signal, ...this.#written }));
    });
  }

  /** Resolves once that was written to stderr. @throws when the process ends before. */
  async said(text: string): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      const look = () => {
        if (this.#written.err.includes(text)) resolve();
      };
      this.#watchers.add(look);
      look();
    });
    const over = this.ended.then(({ err, code }) => {
      throw new Error(`it ended with ${code} and never said "${text}":\n${err}`);
    });
    await Promise.race([seen, over]);
    over.catch(() => undefined);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }
}

export interface SlotObject {
  metadata: { name: string; annotations: Record<string, string> };
  spec: { holderIdentity?: string; renewTime?: string };
}

export interface StageOptions {
  nodes?: number;
  /** Further lines of nodegap.yaml. */
  yaml?: string;
  mode?: 'act' | 'observe';
  managedBy?: 'karpenter' | 'node-group';
}

export class Stage {
  readonly clock: SharedClock;
  readonly cluster: SimulatedCluster;
  readonly folder = mkdtempSync(join(tmpdir(), 'nodegap-remediate-'));
  readonly #running: Running[] = [];
  #served: ServedCluster | undefined;
  #ownWrites = 0;
  readonly names: string[];

  constructor({ nodes = 10, managedBy = 'karpenter' }: StageOptions = {}) {
    const start = Date.parse('2026-11-29T12:00:00Z');
    this.clock = new SharedClock({ start, real: Date.now(), scale });
    const delays = {
      nodeLaunch: 5_000,
      nodeReady: 2_000,
      instanceShutdown: 2_000,
      podStart: 1_000,
    };
    this.cluster = new SimulatedCluster({ clock: this.clock, name: 'prod', delays });
    this.cluster.addPool('general', { nodes, zones: ['eu-west-1a'], managedBy });
    this.cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
    this.cluster.addDeployment({
      name: 'web',
      // One fits on a node, so that an evicted pod needs a new one.
      replicas: nodes,
      cpu: 3,
      pdb: { maxUnavailable: 1 },
    });
    this.cluster.settle();
    this.names = this.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
  }

  /** Serves the cluster with a fault on its first node, and writes kubeconfig and configuration. */
  async open({ yaml = '', mode = 'act' }: StageOptions = {}, fault?: Fault): Promise<string> {
    const [bad = ''] = this.names;
    if (fault !== undefined) this.cluster.setFault({ node: bad, daemonSet: cni }, fault);
    this.cluster.settle();
    this.#served = await this.cluster.serve();
    const { url } = this.#served;
    await fetch(`${url}/api/v1/namespaces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ metadata: { name: 'kube-system' } }),
    });
    const kubeconfig = `apiVersion: v1
kind: Config
current-context: prod
contexts: [{name: prod, context: {cluster: c, user: u}}, {name: other, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: '${url}'}}]
users: [{name: u, user: {token: secret-token}}]
`;
    writeFileSync(join(this.folder, 'kubeconfig'), kubeconfig);
    this.configure(yaml, mode);
    this.#ownWrites = this.cluster.audit.length;
    return bad;
  }

  configure(yaml: string, mode: 'act' | 'observe' = 'act', confirmation = '5s'): void {
    writeFileSync(
      join(this.folder, 'nodegap.yaml'),
      `clusters: [{name: prod, region: eu-west-1, mode: ${mode}}]
timings:
  nodeGrace: 0s
  podGrace: 0s
  confirmation: ${confirmation}
  holdDown: 5s
  holdUp: 5s
  poll: 5s
  volumes: 0s
  drain: 5m
  verification: 10m
${yaml}`,
    );
  }

  /** Starts `nodegap ARGV` on the cluster. */
  start(argv: string[], env: Record<string, string> = {}): Running {
    const where = ['--kubeconfig', join(this.folder, 'kubeconfig')];
    const config = ['--config', join(this.folder, 'nodegap.yaml')];
    const child = spawn(process.execPath, [program, ...argv, ...where, ...config], {
      cwd: this.folder,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: this.folder,
        TEST_CLOCK: JSON.stringify(this.clock.settings),
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const running = new Running(child);
    this.#running.push(running);
    return running;
  }

  run(argv: string[], env: Record<string, string> = {}): Promise<Ended> {
    return this.start(argv, env).ended;
  }

  /** Runs `nodegap ARGV` on the cluster inside the test, as a process of its own would. */
  command(argv: string[]): Promise<Run> {
    const where = ['--kubeconfig', join(this.folder, 'kubeconfig')];
    const config = ['--config', join(this.folder, 'nodegap.yaml')];
    const evidence = argv[0] === 'remediate' ? ['--evidence', join(this.folder, 'evidence')] : [];
    return nodegap([...argv, ...where, ...config, ...evidence], {
      connect: connectFromKubeconfig,
      clock: this.clock,
      waiting: this.clock,
    });
  }

  /** Changes a node as somebody else would, by a merge patch. */
  async patchNode(name: string, patch: object): Promise<void> {
    await this.send('PATCH', `/api/v1/nodes/${name}`, patch);
  }

  /** Sends a change as somebody else would. */
  async send(method: 'PATCH' | 'PUT', path: string, body: object): Promise<void> {
    const type = method === 'PUT' ? 'application/json' : 'application/merge-patch+json';
    const answer = await fetch(`${this.#served?.url}${path}`, {
      method,
      headers: { 'content-type': type },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(await answer.text());
  }

  /** Changes the Lease of the only slot that is taken, as somebody else would. */
  async editSlot(edit: (lease: SlotObject) => void): Promise<void> {
    const [lease] = this.cluster
      .list('leases')
      .filter(({ metadata }) => metadata.annotations?.['nodegap.dev/slot'] !== undefined);
    const path = '/apis/coordination.k8s.io/v1/namespaces/nodegap/leases';
    const changed = structuredClone(lease) as unknown as SlotObject;
    edit(changed);
    await this.send('PUT', `${path}/${changed.metadata.name}`, changed);
  }

  /** The changes that were asked for, but for those of the stage itself. */
  writes(): string[] {
    return this.cluster.audit.slice(this.#ownWrites).map(({ method, path }) => `${method} ${path}`);
  }

  /** Resolves once the CNI's pod on that node runs again: until then nothing tells why it does not. */
  async restarted(name: string): Promise<void> {
    for (;;) {
      this.cluster.advanceTo(this.clock.now());
      const pods = this.cluster.podsOn(name).filter(({ metadata, status }) => {
        return metadata.name.startsWith('aws-node-') && status.phase === 'Running';
      });
      if (pods.some(({ metadata }) => metadata.deletionTimestamp === undefined)) return;
      await this.clock.sleep(500);
    }
  }

  node(name: string): Node | undefined {
    return this.cluster.get('nodes', name);
  }

  /** Whether anything of nodegap is on a node: a mark, a cordon or its taint. */
  traces(name: string): string[] {
    const node = this.node(name);
    return [
      ...(node?.metadata.annotations?.[isolationAnnotation] === undefined ? [] : ['mark']),
      ...(node?.spec.unschedulable ? ['cordon'] : []),
      ...(node?.spec.taints?.some(({ key }) => key === 'nodegap.dev/daemonset-gap')
        ? ['taint']
        : []),
    ];
  }

  /** Names of the nodes whose slot somebody has, by the Leases in the cluster. */
  slots(): string[] {
    return this.cluster
      .list('leases')
      .map(({ metadata }) => metadata.annotations?.['nodegap.dev/slot'])
      .filter((text) => text !== undefined)
      .map((text) => (JSON.parse(text) as { node: string }).node);
  }

  async close(): Promise<void> {
    for (const running of this.#running) running.signal('SIGKILL');
    await Promise.all(this.#running.map(({ ended }) => ended));
    await this.#served?.close();
  }
}
