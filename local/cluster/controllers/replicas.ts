/** ReplicaSets and StatefulSets in small: keep so many pods of one template. */
import { createHash } from 'node:crypto';
import type { OwnerReference, Pod } from '../../../lib/kubernetes/objects.ts';
import { isFinished } from '../pod-status.ts';
import { admitted, controllerOf } from '../pods.ts';
import type { Draft } from '../store.ts';
import { loop, type World } from '../world.ts';

/** A workload of which so many pods should run. Not served by the API: nothing here reads it. */
export interface Workload {
  kind: 'ReplicaSet' | 'StatefulSet';
  namespace: string;
  name: string;
  uid: string;
  replicas: number;
  template: { labels: Record<string, string>; annotations: Record<string, string> } & Pick<
    Pod,
    'spec'
  >;
}

export class ReplicaController {
  readonly #world: World;
  readonly #workloads: Workload[] = [];
  readonly #ask: () => void;

  constructor(world: World) {
    this.#world = world;
    this.#ask = loop(world, world.delays.controller, () => {
      for (const workload of this.#workloads) this.#reconcile(workload);
    });
    world.store.subscribe((change) => {
      if (change.resource === 'pods' && change.type !== 'added') this.#ask();
    });
  }

  add(workload: Workload): void {
    this.#workloads.push(workload);
    this.#ask();
  }

  /** How many pods the controller of that uid wants, for the budgets' percentages. */
  wantedBy(uid: string): number | undefined {
    return this.#workloads.find((workload) => workload.uid === uid)?.replicas;
  }

  #reconcile(workload: Workload): void {
    const { store } = this.#world;
    const owned = [...store.values('pods')].filter(
      (pod) => controllerOf(pod)?.uid === workload.uid,
    );
    if (workload.kind === 'StatefulSet') {
      // A name is free only when the pod before it is gone for good.
      const names = new Set(owned.map((pod) => pod.metadata.name));
      for (let ordinal = 0; ordinal < workload.replicas; ordinal++) {
        const name = `${workload.name}-${ordinal}`;
        if (!names.has(name)) store.create('pods', draftOf(workload, { name }));
      }
      return;
    }
    const live = owned.filter(
      (pod) => pod.metadata.deletionTimestamp === undefined && !isFinished(pod),
    );
    for (let index = live.length; index < workload.replicas; index++) {
      store.create('pods', draftOf(workload, { generateName: `${ownerName(workload)}-` }));
    }
  }
}

function draftOf(workload: Workload, name: { name?: string; generateName?: string }): Draft<Pod> {
  const { kind, namespace, uid, template } = workload;
  const owner: OwnerReference = {
    apiVersion: 'apps/v1',
    kind,
    name: ownerName(workload),
    uid,
    controller: true,
  };
  return admitted(
    {
      metadata: {
        ...name,
        namespace,
        labels: { ...template.labels },
        ...(Object.keys(template.annotations).length === 0
          ? {}
          : { annotations: { ...template.annotations } }),
        ownerReferences: [owner],
      },
      spec: template.spec,
    },
    false,
  );
}

/** A Deployment's ReplicaSet bears the Deployment's name and a hash of the template. */
function ownerName({ kind, name, template }: Workload): string {
  if (kind === 'StatefulSet') return name;
  const hash = createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 10);
  return `${name}-${hash}`;
}
