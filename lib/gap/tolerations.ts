/** Which taints a pod of a DaemonSet gets past. */
import type { PodSpec, Taint, Toleration } from '../kubernetes/objects.ts';

/**
 * Tolerations that the DaemonSet controller adds to every pod it makes. They are on the pods, not
 * in the DaemonSet object (k8s.io/kubernetes pkg/controller/daemon/util AddOrUpdateDaemonPodTolerations).
 */
const automatic: readonly Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];

const automaticForHostNetwork: Toleration = {
  key: 'node.kubernetes.io/network-unavailable',
  operator: 'Exists',
  effect: 'NoSchedule',
};

/** All tolerations that the pods of that template will have. */
export function daemonPodTolerations(template: PodSpec): Toleration[] {
  return [
    ...(template.tolerations ?? []),
    ...automatic,
    ...(template.hostNetwork === true ? [automaticForHostNetwork] : []),
  ];
}

/**
 * Whether one toleration covers one taint (k8s.io/api core/v1 Toleration.ToleratesTaint).
 *
 * `Lt` and `Gt` cover nothing, as on every API server that does not enable
 * TaintTolerationComparisonOperators, and so does any other operator. `tolerationSeconds` says how
 * long, not whether.
 */
export function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  if (isSet(toleration.effect) && toleration.effect !== taint.effect) return false;
  if (isSet(toleration.key) && toleration.key !== taint.key) return false;
  switch (toleration.operator ?? '') {
    case '':
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '');
    case 'Exists':
      return true;
    default:
      return false;
  }
}

/** Whether any of the tolerations covers the taint. */
export function isTolerated(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some((toleration) => toleratesTaint(toleration, taint));
}

/** PreferNoSchedule keeps no pod out. */
export function keepsPodsOut(taint: Taint): boolean {
  return taint.effect === 'NoSchedule' || taint.effect === 'NoExecute';
}

/** `key=value:effect`, the form that kubectl shows. */
export function taintText(taint: Taint): string {
  const value = isSet(taint.value) ? `=${taint.value}` : '';
  return `${taint.key}${value}:${taint.effect}`;
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}
