import { toleratesTaint } from '../../lib/gap/tolerations.ts';
import type { Taint, Toleration } from '../../lib/kubernetes/objects.ts';

/** The first taint with one of `effects` that no toleration covers. */
export function untolerated(
  taints: Taint[] | undefined,
  tolerations: Toleration[] | undefined,
  effects: string[],
): Taint | undefined {
  return taints?.find(
    (taint) =>
      effects.includes(taint.effect) &&
      !tolerations?.some((toleration) => toleratesTaint(toleration, taint)),
  );
}
