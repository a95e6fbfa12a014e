/** The facts of a question as plain lines, for a mail. */
import { isoTime } from '../clock.ts';
import { ago } from '../gap/words.ts';
import type { FaultFact, PodGroup, QuestionFacts } from '../safety/question-facts.ts';
import { plural } from './words.ts';

/** Pods named in a group of a mail. */
const mostPods = 5;

/** What a person is told before the answers, a line each. `now` is epoch ms. */
export function factLines(facts: QuestionFacts, now: number): string[] {
  return [
    `Node ${facts.node} in cluster ${facts.cluster}${placeText(facts, now)}.`,
    `Asked because ${facts.asks}.`,
    ...facts.faults.map((fault) => faultFactText(fault, now)),
    ...(facts.moreFaults > 0 ? [`And ${plural(facts.moreFaults, 'fault')} more.`] : []),
    ...(facts.drain === undefined ? [] : [`Drain: ${facts.drain}.`]),
    ...podLines(facts),
    ...facts.budgets.map((budget) => `Budget: ${budget}.`),
    ...facts.unread.map((unread) => `Not known: ${unread}.`),
  ];
}

/** `: pool general, zone eu-west-1a, karpenter, 3 d old, Ready`, as far as it is known. */
export function placeText(facts: QuestionFacts, now: number): string {
  const { kind, pool = 'none', zone = 'none', createdAt, ready } = facts;
  if (kind === undefined) return '';
  const age = createdAt === undefined ? [] : [`${ago(now - createdAt)} old`];
  const state = ready === true ? 'Ready' : 'not Ready';
  return `: ${[`pool ${pool}`, `zone ${zone}`, kind, ...age, state].join(', ')}`;
}

/** A fault with cause, blame and age. */
export function faultFactText(fault: FaultFact, now: number): string {
  const isCondition = fault.cause === 'node-condition';
  const cause = isCondition ? '' : `: ${fault.cause}`;
  return `${isCondition ? 'Fault' : 'Gap'}: ${fault.text}${cause}, for ${ago(now - fault.since)} (since ${isoTime(fault.since)}). ${fault.message}. Blame ${fault.blame}: ${fault.blameReason}.`;
}

/** The groups of pods that there are, with the words for them. */
export function podGroups({ pods }: QuestionFacts): { title: string; group: PodGroup }[] {
  if (pods === undefined) return [];
  const titles = [
    ['evict', pods.evict],
    ['blocked', pods.blocked],
    ['needs approval', pods.needsApproval],
    ['leaving already', pods.leaving],
    ['stays', pods.skip],
  ] as const;
  return titles.map(([title, group]) => ({ title, group })).filter(({ group }) => group.count > 0);
}

function podLines(facts: QuestionFacts): string[] {
  return podGroups(facts).flatMap(({ title, group }) => {
    const named = group.first.slice(0, mostPods).map(podText);
    const more = group.count - named.length;
    return [
      `Pods, ${title}: ${group.count}`,
      ...named.map((pod) => `  ${pod}`),
      ...(more > 0 ? [`  and ${more} more`] : []),
    ];
  });
}

export function podText({ pod, why }: PodGroup['first'][number]): string {
  return why === '' ? pod : `${pod} (${why})`;
}
