import { secondsToNextLook } from '../lib/remediation/pace.ts';
import { readSituation, type Situation } from '../lib/remediation/situation.ts';
import { slotRequestOf } from '../lib/remediation/slot-request.ts';
import {
  type SlotResult,
  scopeFields,
  type WorkflowState,
} from '../lib/remediation/workflow-state.ts';
import { Episodes } from '../lib/safety/episodes.ts';
import type { Scope } from '../lib/safety/scope.ts';
import { Slots } from '../lib/safety/slots.ts';
import { awsPorts, awsWork, lambdaHandler, readers } from './shared/aws-ports.ts';
import { observers } from './shared/observer-ports.ts';
import type { JudgingPorts } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/** How long an approved node waits for a parallel place before the answer counts as stale. */
const longestWaitForPlaceMs = 60 * 60_000;
/** A place becomes free when another node is done, which takes a while: seconds between looks. */
const leastWaitForPlace = 60;

/**
 * AcquireSlot and TakePlaceAgain: the lease on the node and the places under the breaker, in one
 * transaction on counts of this moment. An execution that parked its place while it waited for a
 * person takes it again.
 */
export function makeHandler(ports: JudgingPorts) {
  return taskHandler(
    'AcquireSlot',
    ports.log,
    async ({ state, execution }): Promise<SlotResult> => {
      const reader = await ports.readers.connect(state.cluster);
      const situation = await readSituation(ports, reader, state);
      const holds = state.slot?.next === 'acquired';
      return holds
        ? takePlaceAgain(ports, situation, state, execution)
        : acquire(ports, situation, state, execution);
    },
  );
}

async function acquire(
  ports: JudgingPorts,
  situation: Situation,
  state: WorkflowState,
  execution: string,
): Promise<SlotResult> {
  const { judgement, config } = situation;
  const none = { fence: 0, waitSeconds: config.timings.poll, waitingSince: 0, retryAt: 0 };
  if (!(await new Episodes(ports.table, ports.clock).isCurrent(state))) {
    return { next: 'refused', code: 'superseded', message: 'the attempt is over', ...none };
  }
  if (judgement.kind === 'healthy') {
    return { next: 'refused', code: 'recovered', message: judgement.message, ...none };
  }
  if (judgement.kind !== 'act') return { ...refusalOf(judgement), ...none, ...retryOf(judgement) };
  const slots = new Slots(ports.table, ports.clock, config.breaker, ports);
  const outcome = await slots.acquire(slotRequestOf(situation, judgement, state, execution));
  if (outcome.kind === 'refused') return { ...refusalOf(outcome), ...none, ...retryOf(outcome) };
  return {
    next: 'acquired',
    code: 'slot-acquired',
    message: 'has the lease on the node and its places under the breaker',
    ...none,
    fence: outcome.fence,
  };
}

/**
 * Whether the node is well just now is not asked here: what follows looks at it for as long as
 * hold-up takes. A refusal for good ends the wait.
 */
async function takePlaceAgain(
  ports: JudgingPorts,
  { judgement, config }: Situation,
  state: WorkflowState,
  execution: string,
): Promise<SlotResult> {
  const now = ports.clock.now();
  const waitingSince = state.place?.waitingSince || now;
  const endsInMs = waitingSince + longestWaitForPlaceMs - now;
  const waitSeconds = secondsToNextLook({
    pollSeconds: Math.max(leastWaitForPlace, config.timings.poll),
    waitedMs: now - waitingSince,
    endsInMs,
  });
  const none = { fence: 0, waitSeconds, waitingSince: 0, retryAt: 0 };
  if (judgement.kind === 'gone' || judgement.kind === 'refuse') {
    return { ...refusalOf(judgement), ...none, ...retryOf(judgement) };
  }
  const { cluster, nodeUid, slot } = state;
  const fence = slot?.fence ?? 0;
  const slots = new Slots(ports.table, ports.clock, config.breaker, ports);
  const outcome = await slots.resume({ cluster, nodeUid, execution, fence });
  if (outcome.kind === 'resumed') {
    const message = 'works on the node again';
    return { next: 'acquired', code: 'place-taken-again', message, ...none, fence };
  }
  const patient = outcome.code !== 'slot-lost' && endsInMs > 0;
  const refusal = refusalOf(outcome);
  return { ...refusal, next: patient ? 'wait' : 'refused', ...none, waitingSince };
}

interface Refused {
  code: string;
  message: string;
  retryAt?: number;
  scope?: Scope;
}

function refusalOf({ code, message, scope }: Refused) {
  return { next: 'refused' as const, code, message, ...scopeFields(scope) };
}

function retryOf({ retryAt }: Refused): { retryAt?: number } {
  return retryAt === undefined ? {} : { retryAt };
}

export const handler = lambdaHandler(
  () => awsPorts({ readers, awsWork, ...observers }),
  makeHandler,
);
