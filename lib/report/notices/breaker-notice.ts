import type { Notice } from '../../ports.ts';
import type { MeasuredState } from '../../safety/breaker.ts';
import { limitText } from '../../safety/limits-text.ts';
import { labelOf } from '../../safety/scope.ts';
import { quoted } from '../shell.ts';
import { noticeFrom } from './notice.ts';
import { mostNamed, namesText, timeText } from './words.ts';

/** Scopes that the first line names. */
const mostScopes = 3;

/**
 * The one notice that goes out when breakers open or close (case C114). Those of several scopes
 * that do so in the same scan are one piece of news. `states` holds at least one.
 */
export function breakerNotice(
  cluster: string,
  event: 'opened' | 'closed',
  states: readonly MeasuredState[],
): Notice {
  const opened = event === 'opened';
  const scopes = namesText(states.map(labelOf), mostScopes);
  const [worst] = [...states].sort((a, b) => b.unhealthy - a.unhealthy);
  const numbers = worst === undefined ? '' : shareOf(worst);
  const pools = new Set(states.map((state) => (state.kind === 'pool' ? state.name : undefined)));
  const [pool] = pools;
  return noticeFrom({
    cluster,
    about: { kind: 'breaker' },
    kind: 'breaker',
    severity: opened ? 'critical' : 'info',
    pool: pools.size === 1 ? pool : undefined,
    first: opened
      ? `nodegap has stopped new work in cluster ${cluster} (${scopes}), because too many nodes are unhealthy at once: ${numbers}`
      : `nodegap may work in cluster ${cluster} (${scopes}) again: fewer nodes are unhealthy than when it stopped (${numbers})`,
    happened: [
      `Breaker ${event}`,
      ...states.map((state) => `${labelOf(state)}: ${numbersOf(state)}`),
      ...(opened ? [nodesOf(states)] : []),
    ],
    next: opened
      ? [
          'No new node is isolated or replaced there until the numbers have been under the limit for the cool-down; one notice then says so',
          'What is isolated already is still watched, and put back into service when it recovers',
        ]
      : [paceOf(states)],
    todo: opened
      ? [
          'Look for what these nodes have in common (zone, DaemonSet, image, network), and mend that.',
          `See the numbers of now: nodegap status --cluster ${quoted(cluster)}`,
        ]
      : ['Nothing.'],
    ids: { cluster, scopes: states.map(labelOf).join(', ') },
  });
}

/** `3 of 10 nodes unhealthy = 30 %`: with the share, as a person reads it (case C114). */
function shareOf({ unhealthy, total }: MeasuredState): string {
  const percent = Math.round((100 * unhealthy) / Math.max(1, total));
  return `${unhealthy} of ${total} nodes unhealthy = ${percent} %`;
}

function numbersOf(state: MeasuredState): string {
  const because = state.why === undefined ? '' : `; ${state.why}`;
  return `${shareOf(state)}, ${limitText(state)}${because}`;
}

function nodesOf(states: readonly MeasuredState[]): string {
  const nodes = [...new Set(states.flatMap(({ unhealthyNodes }) => unhealthyNodes))].sort();
  const isCutShort =
    nodes.length <= mostNamed &&
    states.some(({ unhealthy, unhealthyNodes }) => unhealthy > unhealthyNodes.length);
  return `Nodes: ${namesText(nodes)}${isCutShort ? ' and others' : ''}`;
}

function paceOf(states: readonly MeasuredState[]): string {
  const until = Math.max(...states.map(({ reopenUntil }) => reopenUntil));
  const isPaced = states.some(({ closesAt, reopenUntil }) => reopenUntil > closesAt);
  return isPaced
    ? `Nodes that still have a fault are begun one after the other at a measured pace until ${timeText(until)}`
    : 'Nodes that still have a fault are begun, as many at once as the caps allow';
}
