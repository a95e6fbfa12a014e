/**
 * Where a DaemonSet should run: by the controller's rules, and by intent.
 *
 * The controller's answer depends on the node's taints of this moment, so a NotReady node, or one
 * that nodegap has tainted, has no gap by its rules. Intent looks past the taints that only mirror
 * a condition or that nodegap put there itself, and says which ones it looked past.
 */
import {
  type DaemonSet,
  keyOf,
  type Node,
  type Taint,
  type Toleration,
} from '../kubernetes/objects.ts';
import { compileNodeSelection, type NodeSelection } from './node-selection.ts';
import { daemonPodTolerations, isTolerated, keepsPodsOut, taintText } from './tolerations.ts';

export { toleratesTaint } from './tolerations.ts';

/** All taints of nodegap's own begin with this. */
export const OWN_TAINT_PREFIX = 'nodegap.dev/';
/** nodegap's own taints that a node is born with. */
export const OWN_STARTUP_TAINT_PREFIX = 'nodegap.dev/startup-';
/** nodegap's own taints that stand for a node condition. */
export const OWN_CONDITION_TAINT_PREFIX = 'nodegap.dev/condition-';

/** Taints that mirror a node condition or a cordon (k8s.io/api core/v1 well_known_taints). */
export const conditionTaints: ReadonlySet<string> = new Set([
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/unschedulable',
  'node.kubernetes.io/network-unavailable',
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/pid-pressure',
]);

/** Taints of a node that its provider has not finished setting up. */
export const initialisingTaints: ReadonlySet<string> = new Set([
  'karpenter.sh/unregistered',
  'node.cloudprovider.kubernetes.io/uninitialized',
]);

/** What the DaemonSet controller would do about one node. */
export interface ControllerVerdict {
  /** It creates a pod there. */
  run: boolean;
  /** It keeps a pod that is there already. */
  cont: boolean;
  /** Which selector, term or taint decides, in words. */
  reason: string;
}

/** A DaemonSet prepared to be asked about many nodes. */
export interface CompiledDaemonSet {
  daemonSet: DaemonSet;
  /** `namespace/name`. */
  key: string;
  selection: NodeSelection;
  /** Those of the template and those that the controller adds. */
  tolerations: readonly Toleration[];
}

/** A taint that intent looks past, and why. */
export interface LookedPastTaint {
  taint: Taint;
  /**
   * `condition` mirrors the node's state, `own` is nodegap's, `startup` is one that a node is born
   * with, `initialising` says that the node's provider is not done.
   */
  kind: 'condition' | 'own' | 'startup' | 'initialising';
}

/** Whether a DaemonSet is meant to run on a node, whatever passing taints say. */
export type IntentEligibility =
  | {
      kind: 'eligible';
      /** Taints that keep a new pod out for now; `initialising` ones also when tolerated. */
      lookedPast: readonly LookedPastTaint[];
    }
  | { kind: 'not-eligible'; reason: string };

/** The taints of a node that keep pods out, told apart once per node. */
export interface SortedTaints {
  ordinary: readonly Taint[];
  lookedPast: readonly LookedPastTaint[];
}

const noTaints: readonly never[] = [];
const eligible: IntentEligibility = { kind: 'eligible', lookedPast: noTaints };

/** Prepares a DaemonSet: parses its selectors and gathers its tolerations. */
export function compileDaemonSet(daemonSet: DaemonSet): CompiledDaemonSet {
  const template = daemonSet.spec.template.spec;
  return {
    daemonSet,
    key: keyOf(daemonSet),
    selection: compileNodeSelection(template),
    tolerations: daemonPodTolerations(template),
  };
}

/**
 * Whether the DaemonSet controller runs, or keeps, a pod on the node: the answer of
 * NodeShouldRunDaemonPod (k8s.io/kubernetes v1.34 pkg/controller/daemon). Uses the node's name,
 * labels and taints only; conditions, cordon flag, room and deletion play no part.
 */
export function shouldRun(node: Node, daemonSet: DaemonSet): ControllerVerdict {
  return controllerVerdictOf(node, compileDaemonSet(daemonSet));
}

/** `shouldRun` with the DaemonSet prepared. */
export function controllerVerdictOf(
  node: Node,
  { selection, tolerations }: CompiledDaemonSet,
): ControllerVerdict {
  const deselected = selection(node);
  if (deselected !== undefined) return { run: false, cont: false, reason: deselected };
  const untolerated = (node.spec.taints ?? []).filter(
    (taint) => keepsPodsOut(taint) && !isTolerated(tolerations, taint),
  );
  const [first] = untolerated;
  if (first === undefined) {
    return { run: true, cont: true, reason: 'its selectors match and it tolerates every taint' };
  }
  return {
    run: false,
    cont: untolerated.every((taint) => taint.effect !== 'NoExecute'),
    reason: notTolerated(untolerated),
  };
}

/**
 * Whether the DaemonSet is meant to run on the node. `startupTaints` are the configured taint keys
 * that a node is born with; nodegap's own are known besides.
 */
export function intentEligibility(
  node: Node,
  daemonSet: DaemonSet,
  startupTaints: readonly string[],
): IntentEligibility {
  return intentOf(node, sortTaints(node, new Set(startupTaints)), compileDaemonSet(daemonSet));
}

/** Tells the taints of a node apart for `intentOf`. */
export function sortTaints(node: Node, startupTaints: ReadonlySet<string>): SortedTaints {
  const taints = node.spec.taints;
  if (taints === undefined || taints.length === 0) {
    return { ordinary: noTaints, lookedPast: noTaints };
  }
  const ordinary: Taint[] = [];
  const lookedPast: LookedPastTaint[] = [];
  for (const taint of taints) {
    if (!keepsPodsOut(taint)) continue;
    const kind = kindOf(taint, startupTaints);
    if (kind === 'ordinary') ordinary.push(taint);
    else lookedPast.push({ taint, kind });
  }
  return { ordinary, lookedPast };
}

/** `intentEligibility` with both sides prepared: what a scan of many pairs calls. */
export function intentOf(
  node: Node,
  taints: SortedTaints,
  { selection, tolerations }: CompiledDaemonSet,
): IntentEligibility {
  const deselected = selection(node);
  if (deselected !== undefined) return { kind: 'not-eligible', reason: deselected };
  const untolerated = taints.ordinary.filter((taint) => !isTolerated(tolerations, taint));
  if (untolerated.length > 0) return { kind: 'not-eligible', reason: notTolerated(untolerated) };
  if (taints.lookedPast.length === 0) return eligible;
  const lookedPast = taints.lookedPast.filter(
    ({ taint, kind }) => kind === 'initialising' || !isTolerated(tolerations, taint),
  );
  return { kind: 'eligible', lookedPast };
}

function kindOf(
  { key }: Taint,
  startupTaints: ReadonlySet<string>,
): LookedPastTaint['kind'] | 'ordinary' {
  if (initialisingTaints.has(key)) return 'initialising';
  if (startupTaints.has(key) || key.startsWith(OWN_STARTUP_TAINT_PREFIX)) return 'startup';
  if (key.startsWith(OWN_TAINT_PREFIX)) return 'own';
  return conditionTaints.has(key) ? 'condition' : 'ordinary';
}

function notTolerated(taints: readonly Taint[]): string {
  const names = taints.map(taintText).join(', ');
  return `it does not tolerate ${taints.length === 1 ? 'taint' : 'taints'} ${names}`;
}
