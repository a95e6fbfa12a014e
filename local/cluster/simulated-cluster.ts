/**
 * A Kubernetes cluster in memory, for the demo and for workflow tests: nodes, DaemonSets, workload,
 * budgets and Karpenter, with faults at will, served over the Kubernetes API on loopback.
 *
 * How it works
 * - The cluster lives in virtual time and only moves when it is told how late it is: at the start
 *   of each API request, by `advanceTo`, by `settle`. It holds no timer.
 * - It begins `historyMs` before the clock's present, so a scenario that is built and settled has
 *   nodes and pods of a decent age.
 *
 * Gotcha: when a cluster has no history left, `settle` runs ahead of the clock. It returns the time
 * that it reached, and the owner of the clock has to move there.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Node, Pod } from '../../lib/kubernetes/objects.ts';
import type { Transport } from '../../lib/kubernetes/transport.ts';
import type { InstanceStatuses } from '../../lib/observation-ports.ts';
import { ApiServer, type AuditEntry, type Authorizer } from './api/api-server.ts';
import {
  type Identity,
  type RequestHook,
  type ServedCluster,
  serveHttp,
} from './api/http-server.ts';
import { inProcessTransport } from './api/in-process.ts';
import { Watches } from './api/watches.ts';
import { AutoScaling } from './auto-scaling.ts';
import { type Happening, watchHappenings } from './changes.ts';
import { startBudgetController } from './controllers/budgets.ts';
import { startDaemonSetController } from './controllers/daemonset.ts';
import { startKubelets } from './controllers/kubelet.ts';
import { startNodeLifecycle } from './controllers/node-lifecycle.ts';
import { startPodGarbageCollector } from './controllers/pod-garbage.ts';
import { ReplicaController } from './controllers/replicas.ts';
import { startScheduler } from './controllers/scheduler.ts';
import { startTaintEviction } from './controllers/taint-eviction.ts';
import { startVolumes } from './controllers/volumes.ts';
import { EventRecorder } from './event-recorder.ts';
import { type Fault, FaultBook, type FaultTarget } from './faults.ts';
import { startInitialisation } from './karpenter/claims.ts';
import type { Pool } from './karpenter/pools.ts';
import { Provisioner } from './karpenter/provisioning.ts';
import { startTermination } from './karpenter/termination.ts';
import { poolOf } from './labels.ts';
import { type Machine, Machines } from './machines.ts';
import { Operations } from './operations.ts';
import { type Random, seededRandom } from './random.ts';
import type { Kinds, Resource } from './resources.ts';
import {
  addBudget,
  addDaemonSet,
  addDeployment,
  addPod,
  addPool,
  addVolumeClaim,
  type BudgetOptions,
  type DaemonSetOptions,
  type DeploymentOptions,
  type PoolOptions,
  type SinglePodOptions,
} from './scenario.ts';
import { Store } from './store.ts';
import { Timeline } from './timeline.ts';
import { type Delays, defaultDelays, type World } from './world.ts';

export interface ClusterOptions {
  clock: Clock;
  /** Name of the kubeconfig context. */
  name?: string;
  /** The same seed and the same calls give the same cluster. Ignored when `random` is given. */
  seed?: number;
  random?: Random;
  /** How long before the clock's present the cluster begins, milliseconds. Default one day. */
  historyMs?: number;
  delays?: Partial<Delays>;
  /** False for a cluster that does not serve karpenter.sh. */
  karpenter?: boolean;
}

export interface ServeOptions {
  /** Without any, every request is accepted. The first one is that of `kubeconfig`. */
  identities?: Identity[];
  /** Serve watches, too. Every change is then kept for a while. */
  watches?: Watches;
}

export class SimulatedCluster {
  readonly name: string;
  /** What persons, AWS and bad luck do to the cluster. */
  readonly operations: Operations;
  /** The groups of pools that Karpenter does not make. */
  readonly autoScaling: AutoScaling;
  readonly #clock: Clock;
  readonly #world: World;
  readonly #api: ApiServer;
  readonly #replicas: ReplicaController;
  readonly #pools = new Map<string, Pool>();
  readonly #hooks: RequestHook[] = [];
  #authorize: Authorizer = () => true;

  constructor(options: ClusterOptions) {
    const { clock, seed = 1, historyMs = 86_400_000 } = options;
    const random = options.random ?? seededRandom(seed);
    const timeline = new Timeline(clock.now() - historyMs);
    const store = new Store(timeline, random);
    const world: World = {
      timeline,
      random,
      store,
      faults: new FaultBook(timeline),
      machines: new Machines(),
      recorder: new EventRecorder(store, timeline, random),
      delays: { ...defaultDelays, ...options.delays },
      paces: new Map(),
    };
    const karpenter = options.karpenter ?? true;
    this.name = options.name ?? 'simulated';
    this.#clock = clock;
    this.#world = world;
    this.#replicas = new ReplicaController(world);
    startNodeLifecycle(world);
    startTaintEviction(world);
    startPodGarbageCollector(world);
    startDaemonSetController(world);
    startBudgetController(world, (uid) => this.#replicas.wantedBy(uid));
    startScheduler(world);
    startKubelets(world);
    startVolumes(world);
    startInitialisation(world, (name) => this.#pools.get(name));
    startTermination(world);
    this.autoScaling = new AutoScaling(world, this.name);
    const provisioner = new Provisioner(world, this.#pools);
    this.operations = new Operations(world, this.#pools, provisioner);
    this.#api = new ApiServer(world, {
      karpenter,
      authorize: (...access) => this.#authorize(...access),
    });
  }

  // ── building ────────────────────────────────────────────────────────────────────────────────

  addPool(name: string, options: PoolOptions): void {
    addPool(this.#world, this.#pools, name, options);
    const pool = this.#pools.get(name);
    if (pool !== undefined && pool.managedBy !== 'karpenter') this.autoScaling.adopt(pool);
  }

  addDaemonSet(options: DaemonSetOptions): void {
    addDaemonSet(this.#world, options);
  }

  /** A workload with its pods, and with a budget when `pdb` is given. */
  addDeployment(options: DeploymentOptions): void {
    addDeployment(this.#world, this.#replicas, options);
  }

  /** A pod without a controller. */
  addPod(options: SinglePodOptions): void {
    addPod(this.#world, options);
  }

  addBudget(options: BudgetOptions): void {
    addBudget(this.#world, options);
  }

  /** A claim, by `namespace/name`, with its volume. Made before the pods that use it. */
  addVolumeClaim(key: string): void {
    addVolumeClaim(this.#world, key);
  }

  /** Makes something go wrong from now on. Pods that run already are drawn in. */
  setFault(target: FaultTarget, fault: Fault): void {
    this.#world.faults.set(target, fault);
  }

  setImageFault(image: string, fault: Fault): void {
    this.setFault({ image }, fault);
  }

  /** Takes back the fault that was set for exactly this target. */
  clearFault(target: FaultTarget): void {
    this.#world.faults.clear(target);
  }

  // ── time ────────────────────────────────────────────────────────────────────────────────────

  /** The cluster's own time, epoch milliseconds. */
  get now(): number {
    return this.#world.timeline.now;
  }

  /** Lets everything happen that is due by then. A time in the past changes nothing. */
  advanceTo(epochMs: number): void {
    this.#world.timeline.advanceTo(epochMs);
  }

  /** When the next thing happens, epoch milliseconds; undefined when nothing is planned. */
  nextAt(): number | undefined {
    return this.#world.timeline.nextAt();
  }

  /**
   * Runs until nothing but heartbeats and retries goes on, and up to the clock's present if that is
   * later. Returns the time reached. Throws when the cluster does not come to rest.
   */
  settle(): number {
    this.#world.timeline.settle();
    this.advanceTo(this.#clock.now());
    return this.now;
  }

  // ── looking ─────────────────────────────────────────────────────────────────────────────────

  /** Copies of all objects of one kind, by namespace and name. */
  list<R extends Resource>(resource: R): Kinds[R][] {
    return structuredClone(this.#world.store.list(resource));
  }

  /** A copy of one object. `key` is `namespace/name`, or a bare name. */
  get<R extends Resource>(resource: R, key: string): Kinds[R] | undefined {
    return structuredClone(this.#world.store.get(resource, key));
  }

  /** Copies of the pool's nodes, oldest first. */
  nodesOf(pool: string): Node[] {
    const nodes = [...this.#world.store.values('nodes')];
    return structuredClone(nodes.filter((node) => poolOf(node) === pool));
  }

  /** Copies of the pods that are bound to a node. */
  podsOn(node: string): Pod[] {
    return this.list('pods').filter((pod) => pod.spec.nodeName === node);
  }

  /** The EC2 instances behind the nodes, terminated ones too. */
  instances(): Machine[] {
    return structuredClone(this.#world.machines.list());
  }

  /** EC2's view of them. */
  get instanceStatuses(): InstanceStatuses {
    const { machines } = this.#world;
    return { statusOf: async (ids) => new Map(ids.map((id) => [id, machines.statusOf(id)])) };
  }

  /** Calls `listener` for everything noteworthy from now on, at its virtual time. */
  onChange(listener: (happening: Happening) => void): void {
    watchHappenings(this.#world, listener);
  }

  /** Every request so far that was to change something, refused ones too. */
  get audit(): readonly AuditEntry[] {
    return this.#api.audit;
  }

  // ── serving ─────────────────────────────────────────────────────────────────────────────────

  /** Calls `hook` before each request; what it answers is done to the request. */
  onRequest(hook: RequestHook): void {
    this.#hooks.push(hook);
  }

  /** Decides who may do what; without it everybody may do everything. */
  authorizeBy(authorizer: Authorizer): void {
    this.#authorize = authorizer;
  }

  /** Serves the Kubernetes API over HTTP on a free port of 127.0.0.1. */
  serve({ identities = [], watches }: ServeOptions = {}): Promise<ServedCluster> {
    return serveHttp(this.#api, this.name, {
      identities,
      ...this.#serving(),
      ...(watches === undefined ? {} : { watches }),
    });
  }

  /** Begins to keep changes for watches; give it to `serve`. */
  watches(): Watches {
    return new Watches(this.#world.store);
  }

  /** Answers the same API in this process, without HTTP and without identities. */
  transport(): Transport {
    return inProcessTransport(this.#api, this.#serving());
  }

  #serving(): { hooks: RequestHook[]; catchUp: () => void } {
    return { hooks: this.#hooks, catchUp: () => this.advanceTo(this.#clock.now()) };
  }
}
