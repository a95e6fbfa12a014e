/**
 * What is really the matter with each node: kept by the simulator's side from the faults that the
 * schedule injected and from what happens to the pods, without any judgement of the product.
 *
 * A node is *ill* for a DaemonSet from the moment in which a fault of that very node strikes and no
 * pod of the DaemonSet is Ready there, until one is. So an illness outlasts its fault while nothing
 * has come up again: nobody could tell from outside. Faults of a whole DaemonSet, zone or image,
 * and what cannot be the node's (a missing ConfigMap, a refused pod), make no node ill.
 */
import type { Node } from '../../lib/kubernetes/objects.ts';
import { conditionOf } from '../../lib/kubernetes/objects.ts';
import type { Happening } from '../../local/cluster/changes.ts';
import type { FaultKind } from '../../local/cluster/faults.ts';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';

/** Faults that a new node cures. */
export const nodeFaults = [
  'sandbox',
  'crash-loop',
  'never-ready',
  'oom-killed',
  'image-pull',
  'volume',
  'evicted',
  'missing',
  'stuck-terminating',
] as const satisfies readonly FaultKind[];

/** Faults for which no node may be touched, wherever they show. */
export const othersFaults = [
  'config-error',
  'create-blocked',
] as const satisfies readonly FaultKind[];

/** Health that scans saw for less than this, or in fewer scans, may not end a gap's record. */
const shownMs = 180_000;
const shownScans = 4;
const ownTaint = 'nodegap.dev/daemonset-gap';

export interface NodeTruth {
  name: string;
  uid: string;
  pool: string | undefined;
  zone: string | undefined;
  providerID: string | undefined;
  createdAt: number;
  removedAt: number | undefined;
  /** Whose hand set the cordon that it bears. `either`: a person had a hand in it since. */
  cordonBy: 'nobody' | 'nodegap' | 'person' | 'either';
  /** A person undid the isolation then, and every DaemonSet has not been Ready since. */
  undoneAt: number | undefined;
  /**
   * The execution whose mark a person took off: the mark is what tells of the isolation, so only
   * that execution can know that it was undone.
   */
  undoneFor: string | undefined;
  /** Since when it bears a veto. */
  vetoedAt: number | undefined;
  notReadySince: number | undefined;
  leavingSince: number | undefined;
}

export interface PairTruth {
  unreadySince: number | undefined;
  /** The same with short times of health left out, as a gap record has it. */
  gapSince: number | undefined;
  readyAt: number | undefined;
  illSince: number | undefined;
  /** End of the last illness. */
  curedAt: number | undefined;
}

interface LocalFault {
  node: string;
  daemonSet: string;
  until: number;
}

export class Truth {
  readonly #cluster: SimulatedCluster;
  readonly #daemonSets: readonly string[];
  readonly #now: () => number;
  readonly #nodes = new Map<string, NodeTruth>();
  readonly #present = new Map<string, NodeTruth>();
  readonly #pairs = new Map<string, PairTruth>();
  /** When the scans began that went well. */
  readonly scans: number[] = [];
  /** Ready pods of the DaemonSets, by namespace and name. */
  readonly #ready = new Map<string, { node: string; daemonSet: string }>();
  #faults: LocalFault[] = [];
  /** DaemonSets with a fault of all their pods, or of those in a zone or pool. */
  readonly widespread = new Set<string>();

  /** Begins to watch; `daemonSets` are the required ones. */
  constructor(cluster: SimulatedCluster, daemonSets: readonly string[]) {
    this.#cluster = cluster;
    this.#daemonSets = daemonSets;
    this.#now = () => this.now;
    for (const pod of cluster.list('pods')) {
      const owner = pod.metadata.ownerReferences?.find(({ kind }) => kind === 'DaemonSet');
      const daemonSet = `${pod.metadata.namespace}/${owner?.name}`;
      if (!daemonSets.includes(daemonSet) || pod.spec.nodeName === undefined) continue;
      if (conditionOf(pod.status.conditions, 'Ready')?.status !== 'True') continue;
      const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
      this.#ready.set(key, { node: pod.spec.nodeName, daemonSet });
    }
    for (const node of cluster.list('nodes')) this.#add(node);
    cluster.onChange((happening) => this.#note(happening));
  }

  /** While set, things happen right before the present: a function that starts now must see them. */
  isBefore = false;

  get now(): number {
    return this.#cluster.now - (this.isBefore ? 1 : 0);
  }

  /** A fault of that node alone, until it is taken back or `until` (epoch ms). */
  inject(node: string, daemonSet: string, until = Number.POSITIVE_INFINITY): void {
    this.#faults.push({ node, daemonSet, until });
    this.#look(node, daemonSet);
  }

  takeBack(node: string, daemonSet: string): void {
    this.#faults = this.#faults.filter(
      (fault) => fault.node !== node || fault.daemonSet !== daemonSet,
    );
  }

  hasFault(node: string, daemonSet: string): boolean {
    return this.#faults.some(
      (fault) => fault.node === node && fault.daemonSet === daemonSet && this.#now() < fault.until,
    );
  }

  /** The node of that uid, also one that is gone. */
  node(uid: string): NodeTruth | undefined {
    return this.#nodes.get(uid);
  }

  named(name: string): NodeTruth | undefined {
    return this.#present.get(name);
  }

  get present(): NodeTruth[] {
    return [...this.#present.values()];
  }

  get all(): NodeTruth[] {
    return [...this.#nodes.values()];
  }

  pair(uid: string, daemonSet: string): PairTruth {
    return (
      this.#pairs.get(`${uid}#${daemonSet}`) ?? {
        unreadySince: undefined,
        gapSince: undefined,
        readyAt: undefined,
        illSince: undefined,
        curedAt: undefined,
      }
    );
  }

  pairsOf(uid: string): PairTruth[] {
    return this.#daemonSets.map((daemonSet) => this.pair(uid, daemonSet));
  }

  /** Whether the node is ill, or was at `since` or later. */
  isIll(uid: string, since: number): boolean {
    return this.pairsOf(uid).some(
      ({ illSince, curedAt }) =>
        illSince !== undefined || (curedAt !== undefined && curedAt >= since),
    );
  }

  /**
   * Whether a fault of many strikes this node alone, as when it is the only one of its zone: from
   * outside that is a fault of the node. `before`: later ones may not have been seen.
   */
  looksIll(uid: string, before: number): boolean {
    return [...this.widespread].some(
      (daemonSet) =>
        this.pair(uid, daemonSet).unreadySince !== undefined &&
        this.present.every(
          (other) =>
            other.uid === uid ||
            // Nothing is learnt of a node that is on its way out.
            other.leavingSince !== undefined ||
            (this.pair(other.uid, daemonSet).unreadySince ?? before) >= before,
        ),
    );
  }

  /** DaemonSets without a Ready pod on the node. */
  unready(uid: string): string[] {
    return this.#daemonSets.filter((name) => this.pair(uid, name).unreadySince !== undefined);
  }

  /**
   * nodegap has undone an isolation. What keeps a pod away from then on must be a fault that is
   * still there: a taint that was left behind is none.
   */
  released(uid: string): void {
    const name = this.#nodes.get(uid)?.name ?? '';
    for (const daemonSet of this.#daemonSets) {
      const before = this.pair(uid, daemonSet);
      if (before.illSince === undefined || this.hasFault(name, daemonSet)) continue;
      const next = { ...before, illSince: undefined, curedAt: this.#now() };
      this.#pairs.set(`${uid}#${daemonSet}`, next);
    }
  }

  /** Looks at a node again that somebody has written to. */
  refresh(name: string): void {
    const truth = this.#present.get(name);
    const node = this.#cluster.get('nodes', name);
    if (truth === undefined || node === undefined) return;
    this.#readNode(truth, node);
  }

  #wasSeenWell(since: number): boolean {
    const seen = this.scans.filter((at) => at > since);
    return seen.length >= shownScans && (seen.at(-1) ?? 0) - (seen[0] ?? 0) >= shownMs;
  }

  #add(node: Node): void {
    const { name, uid, labels = {}, creationTimestamp = '' } = node.metadata;
    const truth: NodeTruth = {
      name,
      uid,
      pool: labels['karpenter.sh/nodepool'] ?? labels['eks.amazonaws.com/nodegroup'],
      zone: labels['topology.kubernetes.io/zone'],
      providerID: node.spec.providerID,
      createdAt: Date.parse(creationTimestamp),
      removedAt: undefined,
      cordonBy: node.spec.unschedulable === true ? 'person' : 'nobody',
      undoneAt: undefined,
      undoneFor: undefined,
      vetoedAt: undefined,
      notReadySince: undefined,
      leavingSince: undefined,
    };
    this.#nodes.set(uid, truth);
    this.#present.set(name, truth);
    this.#readNode(truth, node);
    for (const daemonSet of this.#daemonSets) this.#look(name, daemonSet);
  }

  #readNode(truth: NodeTruth, node: Node): void {
    const now = this.#now();
    const ready = conditionOf(node.status.conditions, 'Ready')?.status === 'True';
    truth.notReadySince = ready ? undefined : (truth.notReadySince ?? now);
    const leaving =
      node.metadata.deletionTimestamp !== undefined ||
      node.spec.taints?.some(({ key }) => key === 'karpenter.sh/disrupted') === true;
    truth.leavingSince = leaving ? (truth.leavingSince ?? now) : undefined;
    const vetoed = node.metadata.annotations?.['nodegap.dev/skip'] !== undefined || leaving;
    truth.vetoedAt = vetoed ? (truth.vetoedAt ?? now) : undefined;
    if (node.spec.unschedulable !== true) truth.cordonBy = 'nobody';
  }

  #note(happening: Happening): void {
    if (!('node' in happening) || happening.node === undefined) return;
    const { node } = happening;
    if (happening.kind === 'node-added') {
      const object = this.#cluster.get('nodes', node);
      if (object !== undefined) this.#add(object);
    } else if (happening.kind === 'node-removed') {
      const truth = this.#present.get(node);
      if (truth !== undefined) truth.removedAt = this.#now();
      this.#present.delete(node);
    } else if ('daemonSet' in happening) {
      const { kind, daemonSet, namespace, pod } = happening;
      if (daemonSet === undefined || !this.#daemonSets.includes(daemonSet)) return;
      const key = `${namespace}/${pod}`;
      if (kind === 'pod-ready') this.#ready.set(key, { node, daemonSet });
      // A pod on its way out serves nobody for long, Ready or not.
      else if (kind !== 'pod-added' && kind !== 'pod-bound') this.#ready.delete(key);
      this.#look(node, daemonSet);
    } else {
      this.refresh(node);
    }
  }

  #look(node: string, daemonSet: string): void {
    const truth = this.#present.get(node);
    if (truth === undefined) return;
    const now = this.#now();
    const before = this.pair(truth.uid, daemonSet);
    const isReady = [...this.#ready.values()].some(
      (pod) => pod.node === node && pod.daemonSet === daemonSet,
    );
    const flaps =
      before.gapSince !== undefined &&
      (before.unreadySince !== undefined || !this.#wasSeenWell(before.readyAt ?? now));
    // Health that nobody saw ends nothing while nodegap's own taint keeps the pod away since.
    const isIllAgain =
      flaps &&
      before.curedAt !== undefined &&
      before.curedAt === before.readyAt &&
      this.#cluster.get('nodes', node)?.spec.taints?.some(({ key }) => key === ownTaint) === true;
    const next: PairTruth = isReady
      ? {
          ...before,
          unreadySince: undefined,
          readyAt: before.unreadySince === undefined ? before.readyAt : now,
          illSince: undefined,
          curedAt: before.illSince === undefined ? before.curedAt : now,
        }
      : {
          ...before,
          unreadySince: before.unreadySince ?? now,
          gapSince: flaps ? before.gapSince : now,
          illSince:
            before.illSince ?? (isIllAgain || this.hasFault(node, daemonSet) ? now : undefined),
        };
    this.#pairs.set(`${truth.uid}#${daemonSet}`, next);
    if (isReady && truth.undoneAt !== undefined && this.unready(truth.uid).length === 0) {
      truth.undoneAt = undefined;
      truth.undoneFor = undefined;
    }
  }
}
