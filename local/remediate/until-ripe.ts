/** Waits for what must pass before an attempt begins. */
import { isKubernetesError, messageOf } from '../../lib/errors.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { readSituation } from '../../lib/remediation/situation.ts';
import type { Embedded } from '../embedded.ts';
import { type Ripeness, ripenessOf } from './ripeness.ts';
import type { Ending, Session } from './session.ts';

/** Failed scans one after the other; a cluster that could not be read even once is not tried again. */
const mostFailures = 10;

/**
 * Scans as often as confirmation needs. An ending when there is nothing to do.
 * @throws KubernetesError when the cluster cannot be read.
 */
export async function untilRipe(
  session: Session,
  embedded: Embedded,
  { metadata: { name, uid } }: Node,
  signal: AbortSignal,
): Promise<Ending | undefined> {
  const { cluster, clock, tell } = session;
  const { config } = await embedded.ports.config();
  const input = { cluster, node: name, nodeUid: uid, episode: 1, attempt: 1 };
  const look = async (): Promise<Ripeness> => {
    await embedded.scan(cluster);
    return ripenessOf(await readSituation(embedded.ports, session.client, input));
  };
  let failures = mostFailures;
  for (;;) {
    const until = clock.now() + config.timings.poll * 1000;
    try {
      const ripeness = await look();
      failures = 0;
      if (ripeness.kind === 'nothing-to-do') {
        return { exitCode: 0, code: 'healthy', message: `nothing to do: ${ripeness.message}` };
      }
      if (ripeness.kind === 'ripe') return undefined;
      const { code, message } = ripeness;
      tell({ kind: 'waiting', code, message, until });
    } catch (error) {
      failures += 1;
      const passes = isKubernetesError(error, 'unreachable', 'throttled', 'server', 'stale');
      if (!passes || failures > mostFailures) throw error;
      tell({ kind: 'scan-failed', message: messageOf(error) });
    }
    await clock.sleep(Math.max(0, until - clock.now()), signal);
  }
}
