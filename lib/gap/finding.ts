import { keyOf, type Pod } from '../kubernetes/objects.ts';
import type { Cause, Evidence } from './model.ts';

/** One cause found on a pair, with what it rests on. */
export interface Finding {
  cause: Cause;
  message: string;
  evidence: Evidence[];
  /**
   * What blame needs to know and the cause alone does not tell. `template`: the fault lies in the
   * template or its inputs. `preempted`: another pod was given its place. `refused`: the kubelet
   * would not take the pod, or ended it, for another reason than pressure on the node, such as an
   * admission rule or a shutdown. `stuck`: the kubelet does not finish a deletion that nothing else
   * holds up.
   */
  hint?: 'template' | 'preempted' | 'refused' | 'stuck';
}

/** Evidence of a pod's field; a field that is empty counts as absent. */
export function podEvidence(
  pod: Pod,
  field: string,
  value: string | undefined,
  wouldChange?: string,
): Evidence {
  return {
    object: `pod ${keyOf(pod)}`,
    field,
    value: value === undefined || value === '' ? 'absent' : value,
    ...(wouldChange === undefined ? {} : { wouldChange }),
  };
}
