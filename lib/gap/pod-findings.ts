/** Findings about a pod of which neither kubelet nor scheduler gives a reason. */
import { conditionOf, type Pod } from '../kubernetes/objects.ts';
import { deletionAskerOf } from './failed-pod.ts';
import { type Finding, podEvidence } from './finding.ts';
import type { Evidence } from './model.ts';
import { deletionAskedAt, isStuck } from './timing.ts';
import { ago, shorten } from './words.ts';

/**
 * Only a pod that is being deleted is left. `killing` is what the kubelet said of ending it. A
 * finalizer holds the object and not the containers: one that still runs is the kubelet's.
 */
export function terminating(pod: Pod, killing: Evidence[], now: number): Finding {
  const finalizers = pod.metadata.finalizers ?? [];
  const askedAt = deletionAskedAt(pod);
  const asker = deletionAskerOf(pod);
  const asked = [
    ...(askedAt === undefined ? [] : [`${ago(now - askedAt)} ago`]),
    ...(asker === undefined ? [] : [asker]),
  ];
  const since = asked.length === 0 ? '' : `, asked for ${asked.join(' ')}`;
  const stuck = isStuck(pod, now);
  const running = (pod.status.containerStatuses ?? []).flatMap(({ name, state }, index) =>
    state?.running === undefined ? [] : [{ name, index, running: state.running }],
  );
  const held =
    finalizers.length > 0
      ? `, held by finalizer ${finalizers.join(', ')}`
      : stuck
        ? ', and the kubelet does not finish it'
        : '';
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
        : [
            podEvidence(
              pod,
              'metadata.finalizers',
              finalizers.join(', '),
              'whoever set the finalizer removes it',
            ),
          ]),
      ...(stuck
        ? running.map(({ name, index, running: { startedAt } }) =>
            podEvidence(
              pod,
              `status.containerStatuses[${index}].state.running.startedAt`,
              startedAt,
              `container ${name} ends`,
            ),
          )
        : []),
      ...killing,
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
    evidence: [
      podEvidence(
        pod,
        'status.conditions[PodReadyToStartContainers].status',
        sandbox?.status,
        sandbox?.status === 'True' ? 'the containers start' : 'it becomes True',
      ),
    ],
  };
}

/** No container is at fault, and the pod is not Ready: a readiness gate, or a condition that lags. */
export function readyInAllButName(pod: Pod): Finding {
  const gates = (pod.spec.readinessGates ?? [])
    .map(({ conditionType }) => ({
      type: conditionType,
      condition: conditionOf(pod.status.conditions, conditionType),
    }))
    .filter(({ condition }) => condition?.status !== 'True');
  if (gates.length === 0) {
    const reported = (pod.status.containerStatuses ?? []).length > 0;
    return {
      cause: 'not-ready',
      message: reported
        ? 'all containers are ready and the pod is not Ready'
        : 'the pod runs and is not Ready',
      evidence: [readyEvidence(pod)],
    };
  }
  return {
    cause: 'not-ready',
    message: gates
      .map(({ type, condition }) => {
        const why = [condition?.reason, condition?.message].filter(Boolean).join(': ');
        const said = why === '' ? '' : ` (${shorten(why)})`;
        return `readiness gate ${type} is ${condition?.status || 'not set'}${said}`;
      })
      .join('; '),
    evidence: [
      ...gates.map(({ type, condition }) =>
        podEvidence(
          pod,
          `status.conditions[${type}].status`,
          condition?.status,
          'the gate becomes True',
        ),
      ),
      readyEvidence(pod),
    ],
  };
}

function readyEvidence(pod: Pod): Evidence {
  const ready = conditionOf(pod.status.conditions, 'Ready');
  return podEvidence(pod, 'status.conditions[Ready].status', ready?.status, 'it becomes True');
}
