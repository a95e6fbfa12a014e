/** kube-controller-manager's pod garbage collector: pods of a node that is gone go as well. */
import type { World } from '../world.ts';

export function startPodGarbageCollector(world: World): void {
  const { store, timeline, delays } = world;
  store.subscribe((change) => {
    if (change.resource !== 'nodes' || change.type !== 'removed') return;
    // No other node ever gets the name of one that is gone.
    const { name } = change.object.metadata;
    timeline.after(delays.podGarbage, () => {
      for (const pod of [...store.values('pods')]) {
        if (pod.spec.nodeName === name) store.remove('pods', pod);
      }
    });
  });
}
