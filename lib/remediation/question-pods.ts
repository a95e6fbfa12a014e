/** The pods of a node and their budgets, as the person who is asked about its drain sees them. */
import { count, shorten } from '../gap/words.ts';
import type { PodRef } from '../ports.ts';
import type { PodGroup, QuestionFacts } from '../safety/question-facts.ts';
import { type DrainPlan, stuckMessage } from './drain-plan.ts';

/** Pods and budgets named one by one; all are counted. */
const mostNamed = 20;

const skipText = {
  daemonset: 'of a DaemonSet',
  mirror: 'static pod of the kubelet',
  finished: 'finished already',
  'comes-back': 'tolerates the isolation and would come right back',
} as const;

/** Every pod of the node in one group. */
export function podsOf(plan: DrainPlan): NonNullable<QuestionFacts['pods']> {
  const { waitOnly } = plan;
  return {
    evict: group([...plan.evict, ...plan.orphanDaemonPods], ({ warnings }) => warnings),
    skip: group(plan.skip, ({ reason }) => [skipText[reason]]),
    blocked: group(
      [
        ...plan.blockedByBudget,
        ...waitOnly
          .filter(({ stuck }) => stuck)
          .map((pod) => ({ pod: pod.pod, message: stuckMessage(pod) })),
      ],
      ({ message }) => [message],
    ),
    needsApproval: group(plan.needsApproval, ({ reasons }) =>
      reasons.map(({ message }) => message),
    ),
    leaving: group(
      waitOnly.filter(({ stuck }) => !stuck),
      () => [],
    ),
  };
}

function group<T extends { pod: PodRef }>(pods: T[], why: (pod: T) => string[]): PodGroup {
  const first = pods.slice(0, mostNamed).map((each) => ({
    pod: `${each.pod.namespace}/${each.pod.name}`,
    why: shorten(why(each).join('; '), 200),
  }));
  return { count: pods.length, first };
}

/** What each budget over pods of this node allows, the tightest first. */
export function budgetsOfPlan(plan: DrainPlan): string[] {
  const seen = new Map<string, { allowed: number; pods: number }>();
  for (const { budgets } of [...plan.blockedByBudget, ...plan.evict, ...plan.orphanDaemonPods]) {
    for (const { budget, disruptionsAllowed } of budgets) {
      const pods = (seen.get(budget)?.pods ?? 0) + 1;
      seen.set(budget, { allowed: disruptionsAllowed, pods });
    }
  }
  const all = [...seen].sort(([, a], [, b]) => a.allowed - b.allowed);
  const lines = all
    .slice(0, mostNamed)
    .map(
      ([budget, { allowed, pods }]) =>
        `${budget} allows ${count(allowed, 'disruption')} now, and is over ${count(pods, 'pod')} of this node`,
    );
  const more = all.length - lines.length;
  return more > 0 ? [...lines, `and ${count(more, 'budget')} more`] : lines;
}
