import type { Notice } from '../ports.ts';
import type { MeasuredState } from '../safety/breaker.ts';
import { labelOf } from '../safety/scope.ts';

/** The one notice that goes out when a breaker opens, and the one when it closes. */
export function breakerNotice(
  cluster: string,
  event: 'opened' | 'closed',
  state: MeasuredState,
): Notice {
  const scope = labelOf(state);
  const percent = Math.round((100 * state.unhealthy) / Math.max(1, state.total));
  const numbers = `${state.unhealthy} of ${state.total} nodes unhealthy (${percent} %), limit ${state.limit}`;
  return {
    kind: 'breaker',
    cluster,
    subject: `nodegap: breaker ${event} in ${cluster}, ${scope}`.slice(0, 100),
    body:
      event === 'opened'
        ? [
            `${scope}: ${numbers}.`,
            `Nodes: ${state.unhealthyNodes.join(', ')}.`,
            'No new work begins there until the numbers are back under the limit for the cool-down.',
            'What is isolated already is still watched and undone when it recovers.',
          ].join('\n')
        : `${scope}: work may begin again, paced by the caps. Last seen above: ${numbers}.`,
  };
}
