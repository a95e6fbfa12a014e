/** Findings about a pod of which neither kubelet nor scheduler gives a reason. */
import { conditionOf, type Pod } from '../kubernetes/objects.ts';
import { type Finding, podEvidence } from './finding.ts';
import type { Evidence } from './model.ts';
import { deletionAskedAt, isStuck } from './timing.ts';
import { ago } from './words.ts';

/** Only a pod that is being deleted is left. */
export function terminating(pod: Pod, now: number): Finding {
  const finalizers = pod.metadata.finalizers ?? [];
  const askedAt = deletionAskedAt(pod);
  const since = askedAt === undefined ? '' : `, asked for ${ago(now - askedAt)} ago`;
  const held = finalizers.length === 0 ? '' : `, held by finalizer ${finalizers.join(', ')}`;
  const stuck = isStuck(pod, now);
  return {
    cause: 'terminating',
    message: `only a pod that is being deleted is left${since}${held}`,
    evidence: [
      podEvidence(
        pod,
        'metadata.deletionTimestamp',
        pod.metadata.deletionTimestamp,
        'the pod is gone and the controller makes another',
      ),
      ...(finalizers.length === 0
        ? []
        : [podEvidence(pod, 'metadata.finalizers', finalizers.join(', '))]),
    ],
    ...(stuck && finalizers.length === 0 ? { hint: 'stuck' } : {}),
  };
}

/** A pod, or a node, within its grace; `soFar` is how far it has come. */
export function starting(pod: Pod, soFar: Finding | undefined, young: 'pod' | 'node'): Finding {
  return {
    cause: 'starting',
    message: `the ${young} is younger than its grace${soFar === undefined ? '' : `: ${soFar.message}`}`,
    evidence: [
      podEvidence(pod, 'metadata.creationTimestamp', pod.metadata.creationTimestamp),
      ...(soFar?.evidence ?? [readyEvidence(pod)]),
    ],
  };
}

/** A bound pod whose containers are still to be made. */
export function notCreated(pod: Pod): Finding {
  const sandbox = conditionOf(pod.status.conditions, 'PodReadyToStartContainers');
  const step =
    sandbox === undefined
      ? 'the containers of the pod are not made'
      : sandbox.status === 'True'
        ? 'the sandbox of the pod stands and its containers are not made'
        : 'the volumes or the sandbox of the pod are not set up';
  return {
    cause: 'unknown',
    message: step,
    evidence: [podEvidence(pod, 'status.conditions[PodReadyToStartContainers]', sandbox?.status)],
  };
}

/** No container is at fault, and the pod is not Ready: a readiness gate, or a condition that lags. */
export function readyInAllButName(pod: Pod): Finding {
  const gate = (pod.spec.readinessGates ?? []).find(
    ({ conditionType }) => conditionOf(pod.status.conditions, conditionType)?.status !== 'True',
  );
  if (gate === undefined) {
    const reported = (pod.status.containerStatuses ?? []).length > 0;
    return {
      cause: 'not-ready',
      message: reported
        ? 'all containers are ready and the pod is not Ready'
        : 'the pod runs and is not Ready',
      evidence: [readyEvidence(pod)],
    };
  }
  const { conditionType } = gate;
  const status = conditionOf(pod.status.conditions, conditionType)?.status;
  return {
    cause: 'not-ready',
    message: `readiness gate ${conditionType} is ${status ?? 'not set'}`,
    evidence: [
      podEvidence(
        pod,
        `status.conditions[${conditionType}].status`,
        status,
        'the gate becomes True',
      ),
      readyEvidence(pod),
    ],
  };
}

function readyEvidence(pod: Pod): Evidence {
  const ready = conditionOf(pod.status.conditions, 'Ready');
  return podEvidence(pod, 'status.conditions[Ready].status', ready?.status, 'it becomes True');
}
