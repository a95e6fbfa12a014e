import { parseTime } from '../lib/clock.ts';
import { isConditionFault, subjectOf } from '../lib/gap/fault.ts';
import { guard } from '../lib/remediation/guard.ts';
import { readSituation } from '../lib/remediation/situation.ts';
import type { RestartResult } from '../lib/remediation/workflow-state.ts';
import { clients } from './shared/aws-clients.ts';
import { awsPorts, awsWork, lambdaHandler } from './shared/aws-ports.ts';
import { observers } from './shared/observer-ports.ts';
import type { ActingPorts } from './shared/ports.ts';
import { tellingHandler } from './shared/telling-handler.ts';

/**
 * RestartDaemonPod: evicts the pod of the gap once, so that its controller makes a new one. By
 * eviction, never by delete: a budget that forbids it is respected and said. A pod that came after
 * the isolation is that new one, also when this task is run again.
 */
export function makeHandler(ports: ActingPorts) {
  return tellingHandler(
    'RestartDaemonPod',
    ports,
    () => 'Normal',
    async ({ state, execution }): Promise<RestartResult> => {
      const client = await ports.clients.connect(state.cluster);
      const situation = await readSituation(ports, client, state);
      const at = ports.clock.now();
      const guarded = guard(situation, state, execution);
      if (guarded.kind !== 'go') return { code: guarded.code, message: guarded.message, at };
      const { primary } = guarded.act;
      const pod = isConditionFault(primary) ? undefined : primary.pod;
      if (pod === undefined) {
        return {
          code: 'no-pod',
          message: `no pod of ${subjectOf(primary)} is there to restart`,
          at,
        };
      }
      const current = situation.facts.pods.find(({ metadata }) => metadata.uid === pod.uid);
      const createdAt = parseTime(current?.metadata.creationTimestamp);
      if (createdAt !== undefined && createdAt > (state.isolation?.at ?? at)) {
        const message = `${pod.namespace}/${pod.name} came after the isolation already`;
        return { code: 'restarted-before', message, at };
      }
      const outcome = await client.evictPod(pod);
      const code = `restart-${outcome.kind}`;
      const message = `${pod.namespace}/${pod.name}: ${'message' in outcome ? outcome.message : outcome.kind}`;
      return { code, message, at };
    },
  );
}

export const handler = lambdaHandler(
  () => awsPorts({ clients, awsWork, ...observers }),
  makeHandler,
);
