/** Whether the budgets of the workloads were kept, change by change. Pure. */
import { conditionOf, type Pod } from '../../lib/kubernetes/objects.ts';

/** A Deployment with a budget of its own. */
export interface Workload {
  /** Its name, and the label `app` of its pods. */
  app: string;
  pool: string;
  replicas: number;
  maxUnavailable: number;
}

/** What a watch tells of a pod. */
export interface PodChange {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: Pod;
}

interface Tally {
  workload: Workload;
  available: Set<string>;
  lowest: number;
}

/** Follows the pods of workloads whose pods were all available to begin with. */
export class Budgets {
  readonly #tallies: Map<string, Tally>;
  /** Every pod that was available at some time. */
  readonly #served = new Set<string>();
  readonly #takenOtherwise = new Set<string>();

  constructor(workloads: readonly Workload[]) {
    this.#tallies = new Map(
      workloads.map((workload) => [
        workload.app,
        { workload, available: new Set(), lowest: workload.replicas },
      ]),
    );
  }

  /** The pods that are there at the beginning. */
  begin(pods: readonly Pod[]): void {
    for (const object of pods) this.#count({ type: 'ADDED', object });
    for (const tally of this.#tallies.values()) {
      tally.lowest = Math.min(tally.workload.replicas, tally.available.size);
    }
  }

  /** One change, in the order of the watch: that is the order in which they happened. */
  see(change: PodChange): void {
    const tally = this.#count(change);
    if (tally === undefined) return;
    tally.lowest = Math.min(tally.lowest, tally.available.size);
    const { type, object } = change;
    const { uid, name } = object.metadata;
    // One that was never available disrupts nobody: kube-controller-manager deletes a pod that comes
    // to a new node before it has seen that Karpenter took its NoExecute taint off.
    const served = this.#served.has(uid);
    if (type === 'DELETED' && served && !wasEvicted(object)) this.#takenOtherwise.add(name);
  }

  /** Of each workload: the fewest pods that were available at any moment, and how many have to be. */
  lowest(): { app: string; lowest: number; floor: number }[] {
    return [...this.#tallies.values()].map(({ workload, lowest }) => ({
      app: workload.app,
      lowest,
      floor: workload.replicas - workload.maxUnavailable,
    }));
  }

  /** What is wrong: budgets that were not kept, and pods that were not taken by the Eviction API. */
  violations(): string[] {
    const broken = this.lowest()
      .filter(({ lowest, floor }) => lowest < floor)
      .map(({ app, lowest, floor }) => `${app} had ${lowest} pods available, fewer than ${floor}`);
    const taken = [...this.#takenOtherwise].map((name) => `pod ${name} went without an eviction`);
    return [...broken, ...taken];
  }

  #count({ type, object }: PodChange): Tally | undefined {
    const tally = this.#tallies.get(object.metadata.labels?.app ?? '');
    const { uid, deletionTimestamp } = object.metadata;
    const available =
      type !== 'DELETED' &&
      deletionTimestamp === undefined &&
      conditionOf(object.status.conditions, 'Ready')?.status === 'True';
    if (available) this.#served.add(uid);
    if (available) tally?.available.add(uid);
    else tally?.available.delete(uid);
    return tally;
  }
}

/** The API server writes it on every pod that it evicts. */
function wasEvicted({ status }: Pod): boolean {
  return conditionOf(status.conditions, 'DisruptionTarget')?.reason === 'EvictionByEvictionAPI';
}
