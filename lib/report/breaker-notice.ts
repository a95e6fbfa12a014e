import { isoTime } from '../clock.ts';
import type { Notice } from '../ports.ts';
import type { MeasuredState } from '../safety/breaker.ts';
import { limitText } from '../safety/limits-text.ts';
import { labelOf } from '../safety/scope.ts';

/** As the port asks for it. */
const longestSubject = 100;

/**
 * The one notice that goes out when breakers open or close. Those of several scopes that do so in
 * the same scan are one piece of news. `states` holds at least one.
 */
export function breakerNotice(
  cluster: string,
  event: 'opened' | 'closed',
  states: readonly MeasuredState[],
): Notice {
  return {
    kind: 'breaker',
    cluster,
    subject: subjectOf(`nodegap: breaker ${event} in ${cluster}: `, states.map(labelOf)),
    body: [
      ...states.map((state) => `${labelOf(state)}: ${numbersOf(state)}.`),
      ...(event === 'opened' ? openedLines(states) : closedLines(states)),
    ].join('\n'),
  };
}

/** As many of the scopes as a subject has room for. */
function subjectOf(beginning: string, scopes: string[]): string {
  for (let shown = scopes.length; shown > 0; shown--) {
    const more = shown < scopes.length ? ` and ${scopes.length - shown} more` : '';
    const subject = `${beginning}${scopes.slice(0, shown).join(', ')}${more}`;
    if (subject.length <= longestSubject) return subject;
  }
  return `${beginning}${scopes.length} scopes`.slice(0, longestSubject);
}

/** With the share that it was, as a person reads it (case C114). */
function numbersOf(state: MeasuredState): string {
  const { unhealthy, total, why } = state;
  const percent = Math.round((100 * unhealthy) / Math.max(1, total));
  const because = why === undefined ? '' : `; ${why}`;
  return `${unhealthy} of ${total} nodes unhealthy (${percent} %), ${limitText(state)}${because}`;
}

function openedLines(states: readonly MeasuredState[]): string[] {
  const nodes = [...new Set(states.flatMap(({ unhealthyNodes }) => unhealthyNodes))].sort();
  const isCutShort = states.some(({ unhealthy, unhealthyNodes }) => {
    return unhealthy > unhealthyNodes.length;
  });
  return [
    `Nodes: ${nodes.join(', ')}${isCutShort ? ' and others' : ''}.`,
    'No new work begins there until the numbers are back under the limit for the cool-down.',
    'What is isolated already is still watched and undone when it recovers.',
  ];
}

function closedLines(states: readonly MeasuredState[]): string[] {
  const until = Math.max(...states.map(({ reopenUntil }) => reopenUntil));
  const isPaced = states.some(({ closesAt, reopenUntil }) => reopenUntil > closesAt);
  return [
    isPaced
      ? `Work may begin again, one new node after the other at a measured pace until ${isoTime(until)}.`
      : 'Work may begin again, paced by the caps.',
    'The numbers are those last seen above the limit.',
  ];
}
