/**
 * The kubelets' reports, which kwok is told not to send: it would still send the one that was due when
 * a kubelet fell silent, and the node would be Ready once more. nodegap believes a report for 15
 * minutes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, type KubeClient } from '../../test/e2e/harness/client.ts';
import { isReady, nodes } from '../../test/e2e/harness/state.ts';

/** Longer than any run, seconds. */
export const kwokHeartbeatSeconds = 86_400;
const everySeconds = 240;

/** Reports for every Ready node but the silent one, again and again until `signal` is aborted. */
export async function keepReporting(
  client: KubeClient,
  silent: () => string | undefined,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await sleep(everySeconds * 1000, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    for (const node of await nodes(client)) {
      const { name, deletionTimestamp } = node.metadata;
      if (name === silent() || deletionTimestamp !== undefined || !isReady(node)) continue;
      const lastHeartbeatTime = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
      const conditions = [{ type: 'Ready', lastHeartbeatTime }];
      try {
        await client.patch(`/api/v1/nodes/${name}/status`, { status: { conditions } }, 'strategic');
      } catch (error) {
        // A contender may have taken the node meanwhile.
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      }
    }
  }
}
