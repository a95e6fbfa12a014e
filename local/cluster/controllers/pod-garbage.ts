/** kube-controller-manager's pod garbage collector: pods of a node that is gone go as well. */
import type { World } from '../world.ts';

export function startPodGarbageCollector(world: World): void {
  const { store, timeline, delays } = world;
  store.subscribe((change) => {
    if (change.resource !== 'nodes' || change.type !== 'removed') return;
    const { name } = change.object.metadata;
    timeline.after(delays.podGarbage, () => {
      // Registered again under its name: its pods are those of the node that is there now.
      if (store.get('nodes', name) !== undefined) return;
      for (const pod of [...store.values('pods')]) {
        if (pod.spec.nodeName === name) store.remove('pods', pod);
      }
    });
  });
}
