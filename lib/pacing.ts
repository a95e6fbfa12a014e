/** How something that tries again waits; injected, so that tests and the demo own both. */
export interface Pacing {
  /** A number from 0 up to, but not including, 1. */
  random: () => number;
  sleep: (ms: number) => Promise<void>;
}

export const systemPacing: Pacing = {
  random: Math.random,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/**
 * Milliseconds to wait before try number `tries + 1`: a random share of an exponentially growing
 * bound ("full jitter"), so that those who collided once do not collide again.
 */
export function backoffMs(
  tries: number,
  random: () => number,
  bounds: { baseMs: number; maxMs: number },
): number {
  return Math.round(random() * Math.min(bounds.maxMs, bounds.baseMs * 2 ** tries));
}
