/** Small recordings, written down by hand. */

import type { Budget, Recording, Stamped } from '../../../bench/compare/recording.ts';
import type { Node, Pod } from '../../../lib/kubernetes/objects.ts';

type Kind = 'ADDED' | 'MODIFIED' | 'DELETED';

/** Puts changes in the order in which they are given; the revision counts on over all kinds. */
export class Script {
  readonly recording: Recording = { nodes: [], pods: [], budgets: [] };
  #revision = 0;

  /** A state of a node at a second. */
  node(at: number, type: Kind, name: string, state: Partial<NodeState> = {}): this {
    const { pool = 'blue', cordoned, taint, deleting } = state;
    const object: Node = {
      metadata: {
        name,
        uid: `uid-${name}`,
        labels: { 'karpenter.sh/nodepool': pool },
        ...(deleting ? { deletionTimestamp: 'now' } : {}),
      },
      spec: {
        ...(cordoned ? { unschedulable: true } : {}),
        ...(taint === undefined ? {} : { taints: [{ key: taint, effect: 'NoSchedule' }] }),
      },
      status: {},
    };
    return this.#add(this.recording.nodes, at, type, object);
  }

  /** A state of a pod of a DaemonSet on a node. */
  daemonPod(at: number, type: Kind, daemonSet: string, node: string, ready: boolean): this {
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: daemonSet, uid: 'u' };
    return this.#add(this.recording.pods, at, type, {
      metadata: {
        name: `${daemonSet}-${node}`,
        namespace: 'kube-system',
        uid: `uid-${daemonSet}-${node}`,
        ownerReferences: [{ ...owner, controller: true }],
      },
      spec: { nodeName: node },
      status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
    });
  }

  /** A state of a pod of the workload `web-blue`. */
  pod(at: number, type: Kind, name: string, state: Partial<PodState> = {}): this {
    const { node = 'n1', ready = true, deleting, reason } = state;
    const conditions = [
      { type: 'Ready', status: ready ? 'True' : 'False' },
      ...(reason === undefined ? [] : [{ type: 'DisruptionTarget', status: 'True', reason }]),
    ];
    const object: Pod = {
      metadata: {
        name,
        namespace: 'default',
        uid: `uid-${name}`,
        labels: { app: 'web-blue' },
        ...(deleting ? { deletionTimestamp: 'now' } : {}),
      },
      spec: { nodeName: node },
      status: { conditions },
    };
    return this.#add(this.recording.pods, at, type, object);
  }

  budget(at: number, desiredHealthy: number): this {
    const object: Budget = {
      metadata: { name: 'blue', namespace: 'default', uid: 'uid-budget' },
      spec: {
        selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['web-blue'] }] },
      },
      status: { desiredHealthy },
    };
    return this.#add(this.recording.budgets, at, 'ADDED', object);
  }

  #add<T>(list: Stamped<T>[], seconds: number, type: Kind, object: T): this {
    this.#revision += 1;
    list.push({ type, revision: this.#revision, at: seconds * 1000, object });
    return this;
  }
}

interface NodeState {
  pool: string;
  cordoned: boolean;
  taint: string;
  deleting: boolean;
}

interface PodState {
  node: string;
  ready: boolean;
  deleting: boolean;
  reason: string;
}
