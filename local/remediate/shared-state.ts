/** The state that all command lines on a cluster share, over the ConfigMaps and Leases in it. */

import { itemFromText } from '../../lib/cluster-state/item-text.ts';
import { Objects } from '../../lib/cluster-state/objects.ts';
import { openClusterState } from '../../lib/cluster-state/open.ts';
import { isKubernetesError, NodegapError } from '../../lib/errors.ts';
import type { Transport } from '../../lib/kubernetes/transport.ts';
import type { SleepingClock } from '../clock.ts';
import { type HeldSlot, heldSlotOf } from './liveness.ts';
import { hasEnded, identityOf, type Runner } from './runner-identity.ts';
import type { SharedState } from './session.ts';
import { underShownName } from './stable-name.ts';

/** The namespace of the state. */
export const stateNamespace = 'nodegap';

/**
 * Opens the state, and makes it where there is none. `cluster` is what this process calls the
 * cluster.
 * @throws as `openClusterState`.
 */
export async function openSharedState(
  transport: Transport,
  options: { installation: string; cluster: string; runner: Runner; clock: SleepingClock },
): Promise<SharedState> {
  const { installation, cluster, runner, clock } = options;
  const identity = identityOf(runner);
  const state = await openClusterState(transport, { installation, cluster, identity, clock });
  const { leases } = state;
  return {
    table: underShownName(state.table, state.cluster, cluster),
    async heldSlots() {
      const all = await leases.list();
      return all.map(({ item, object }) => heldSlotOf(item, object.spec, identity));
    },
    async seize(nodeUid, signal) {
      for (;;) {
        const found = (await leases.list()).find((each) => each.nodeUid === nodeUid);
        if (found === undefined) return 'absent';
        const { holder } = heldSlotOf(found.item, found.object.spec, identity);
        if (holder !== undefined && hasEnded(holder, runner)) {
          if (await leases.takeOver(found, { gone: true })) return 'seized';
          continue;
        }
        const watched = await leases.watch(nodeUid, signal);
        if (watched.kind === 'absent') return 'absent';
        if (watched.kind === 'alive') return 'alive';
        if (await leases.takeOver(watched.lease)) return 'seized';
      }
    },
    keepRenewing: (nodeUid, signal, onFailure) => leases.keepRenewing(nodeUid, signal, onFailure),
    async hold(nodeUid) {
      if (leases.mayAct(nodeUid) || (await leases.renew(nodeUid)) === 'renewed') return;
      throw new NodegapError(
        'State.SlotHeld',
        'this process has lost the slot of the node to another one, which took it for dead',
      );
    },
  };
}

/** The slots as anybody sees them who may read Leases. Undefined when they cannot be read. */
export async function readHeldSlots(transport: Transport): Promise<HeldSlot[] | undefined> {
  try {
    const objects = await new Objects(transport, stateNamespace).listSlots();
    return objects.flatMap(({ texts, spec, name }) =>
      texts.slot === undefined
        ? []
        : [heldSlotOf(itemFromText(texts.slot, `Lease ${name}:`), spec, '')],
    );
  } catch (error) {
    if (isKubernetesError(error, 'not-found')) return [];
    // Named, where something is left over, as what it is: not known.
    if (error instanceof NodegapError) return undefined;
    throw error;
  }
}
