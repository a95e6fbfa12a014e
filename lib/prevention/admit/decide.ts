/**
 * Which startup taints of nodegap come off now, which wait and why, and which nodes are overdue.
 * Pure. Taints of others are never looked at, and none is ever put on.
 */
import { parseTime } from '../../clock.ts';
import type { Config } from '../../config/model.ts';
import {
  type CompiledDaemonSet,
  compileDaemonSet,
  intentOf,
  sortTaints,
} from '../../gap/eligibility.ts';
import { isOfKarpenter, leftOut } from '../../gap/node-kinds.ts';
import { daemonSetUidOf } from '../../gap/pod-target.ts';
import { isFinished, isReady, readyChangedAt } from '../../gap/readiness.ts';
import { conditionOf, type Node, type Pod } from '../../kubernetes/objects.ts';
import { leavingReason } from '../../safety/leaving.ts';
import { skipAnnotation } from '../../safety/vetoes.ts';
import { startupOwners, startupTaintKey, startupTaintName } from '../startup-taint.ts';
import { admittedNames } from './mark.ts';
import type {
  AdmissionDecision,
  AdmissionFacts,
  NodeAdmission,
  Removal,
  Waiting,
  WaitingCode,
} from './model.ts';

type AdmissionConfig = Pick<Config, 'requiredDaemonSets' | 'startupTaints' | 'timings'>;

const unregisteredTaint = 'karpenter.sh/unregistered';
const registeredLabel = 'karpenter.sh/registered';
/** Until the cloud provider has initialised a node it lacks the labels that selectors ask for. */
const uninitialisedTaint = 'node.cloudprovider.kubernetes.io/uninitialized';

/** NAMEs of the startup taints of nodegap on a node, each once. */
export function startupNamesOn(node: Node): string[] {
  const names = (node.spec.taints ?? []).map(startupTaintName);
  return [...new Set(names.filter((name) => name !== undefined))];
}

/** Age in ms at which a node that has not proved itself is handed to remediate-node. */
export function startupDeadlineMs({ timings }: Pick<Config, 'timings'>): number {
  // Earlier than that a gap is neither past its grace period nor confirmed, and nobody would act.
  return Math.max(timings.startupDeadline, timings.nodeGrace + timings.confirmation) * 1000;
}

/** Decides over every node that bears a startup taint of nodegap. `now` is epoch ms. */
export function decideAdmission(
  facts: AdmissionFacts,
  config: AdmissionConfig,
  now: number,
): AdmissionDecision {
  const owners = new Map(
    [...startupOwners(config, facts.daemonSets)].map(([name, daemonSets]) => [
      name,
      daemonSets.map(compileDaemonSet),
    ]),
  );
  const tainted = facts.nodes.filter((node) => startupNamesOn(node).length > 0);
  const pods = podsByPair(facts.pods);
  const judge = new Judge({ facts, config, now, owners, pods });
  const nodes = tainted.map((node) => judge.node(node));
  const named = new Set(tainted.flatMap(startupNamesOn));
  return { nodes, orphans: [...named].filter((name) => !owners.has(name)).sort() };
}

interface JudgeInput {
  facts: AdmissionFacts;
  config: AdmissionConfig;
  now: number;
  owners: ReadonlyMap<string, CompiledDaemonSet[]>;
  pods: ReadonlyMap<string, Pod[]>;
}

class Judge {
  readonly #input: JudgeInput;
  readonly #startupTaints: ReadonlySet<string>;

  constructor(input: JudgeInput) {
    this.#input = input;
    this.#startupTaints = new Set(input.config.startupTaints);
  }

  node(node: Node): NodeAdmission {
    const { facts, config, now } = this.#input;
    const going = leftOut(node)?.reason ?? leavingReason(facts.leaving, node) ?? skipped(node);
    if (going !== undefined) return { kind: 'left-alone', node, reason: going };
    const verdicts = startupNamesOn(node).map((name) => this.#taint(node, name));
    const remove = verdicts.filter((verdict) => 'because' in verdict);
    const wait = verdicts.filter((verdict) => 'code' in verdict);
    // Nobody can prove a taint that nothing stands behind, and replacing the node mends nothing.
    const provable = wait.filter(({ code }) => code !== 'startup-taint-without-daemonset');
    const created = parseTime(node.metadata.creationTimestamp);
    const isOverdue =
      provable.length > 0 && created !== undefined && now - created >= startupDeadlineMs(config);
    return {
      kind: 'looked-at',
      node,
      remove,
      wait,
      ...(isOverdue ? { overdue: overdueText(provable) } : {}),
    };
  }

  #taint(node: Node, name: string): Removal | Waiting {
    const { facts, owners } = this.#input;
    const behind = owners.get(name);
    const key = startupTaintKey(name);
    const waits = (code: WaitingCode, message: string): Waiting => ({ name, code, message });
    if (behind === undefined) {
      return waits(
        'startup-taint-without-daemonset',
        `no required DaemonSet stands behind ${key}, so nothing can prove that it may come off`,
      );
    }
    const unfinished = notRegistered(node);
    if (unfinished !== undefined) return waits(unfinished.code, unfinished.message);
    const provedAt = admittedNames(node, facts.installation).get(name);
    if (provedAt !== undefined) {
      const message = `the node had proved itself at ${provedAt} and the taint came back`;
      return { name, because: 'proved-before', message };
    }
    const ready = conditionOf(node.status.conditions, 'Ready');
    if (ready?.status !== 'True') {
      return waits('startup-node-not-ready', 'the node itself is not Ready');
    }
    const taints = sortTaints(node, this.#startupTaints);
    const shutOut = behind.find(
      (owner) =>
        owner.selection(node) === undefined && intentOf(node, taints, owner).kind !== 'eligible',
    );
    if (shutOut !== undefined && this.#isYoung(node)) {
      return waits(
        'startup-pod-shut-out',
        `${shutOut.key} does not tolerate a taint of the node that may still go away`,
      );
    }
    const meant = behind.filter((owner) => intentOf(node, taints, owner).kind === 'eligible');
    for (const owner of meant) {
      const lacking = this.#lacking(node, owner);
      if (lacking !== undefined) return waits(lacking.code, lacking.message);
    }
    if (meant.length === 0) {
      const since = parseTime(ready.lastTransitionTime);
      const { config, now } = this.#input;
      // Labels that selectors ask for may come after the node.
      if (since === undefined || now - since < config.timings.startupSoak * 1000) {
        return waits('startup-soaking', 'no DaemonSet behind it selects the node yet');
      }
      const message = `no DaemonSet behind it is meant for this node: ${behind.map(({ key }) => key).join(', ')}`;
      return { name, because: 'nothing-to-prove', message };
    }
    const others = behind.filter((owner) => !meant.includes(owner)).map(({ key }) => key);
    const besides = others.length === 0 ? '' : `; not meant for this node: ${others.join(', ')}`;
    const message = `Ready for the soak time: ${meant.map(({ key }) => key).join(', ')}${besides}`;
    return { name, because: 'proved', message };
  }

  /** Taints of others come and go while a node is set up, those that nobody configured too. */
  #isYoung({ metadata }: Node): boolean {
    const { config, now } = this.#input;
    const created = parseTime(metadata.creationTimestamp);
    return created === undefined || now - created < config.timings.nodeGrace * 1000;
  }

  /** What a DaemonSet that is meant for the node still has to show there. */
  #lacking(
    node: Node,
    { key, daemonSet }: CompiledDaemonSet,
  ): Pick<Waiting, 'code' | 'message'> | undefined {
    const { pods, config, now } = this.#input;
    const { startupSoak } = config.timings;
    const own = pods.get(pairKey(daemonSet.metadata, node.metadata.name)) ?? [];
    const [first] = own;
    if (first === undefined) {
      return { code: 'startup-pod-missing', message: `${key} has no pod on the node` };
    }
    const live = own.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (live.length === 0) {
      const message = `the pod of ${key} is being deleted (${first.metadata.name})`;
      return { code: 'startup-pod-missing', message };
    }
    const ready = live.filter(isReady);
    const [soaking] = ready;
    if (soaking === undefined) {
      const shown = live.find((pod) => !isFinished(pod)) ?? live[0] ?? first;
      const message = `the pod of ${key} is not Ready (${podText(shown)})`;
      return { code: 'startup-pod-not-ready', message };
    }
    // A time in the future, or none, proves nothing.
    const proved = ready.some((pod) => {
      const since = readyChangedAt(pod);
      if (since === undefined) return false;
      // That is the kubelet's clock. The API server's says when the pod was made: not Ready before.
      const made = parseTime(pod.metadata.creationTimestamp) ?? since;
      return Math.max(since, made) <= now - startupSoak * 1000;
    });
    if (proved) return undefined;
    const message = `the pod of ${key} has not been Ready for ${startupSoak} s yet (${soaking.metadata.name})`;
    return { code: 'startup-soaking', message };
  }
}

/** A person wants nodegap to keep its hands off the node. */
function skipped({ metadata }: Node): string | undefined {
  const value = metadata.annotations?.[skipAnnotation];
  if (value === undefined || value === 'false') return undefined;
  return `annotation ${skipAnnotation} says so`;
}

/** Karpenter writes the taints once more when it registers a node (karpenter#1772). */
function notRegistered(node: Node): Pick<Waiting, 'code' | 'message'> | undefined {
  const bears = (key: string) => node.spec.taints?.some((taint) => taint.key === key) === true;
  if (bears(unregisteredTaint)) {
    const message = `Karpenter has not registered the node yet: it bears ${unregisteredTaint}`;
    return { code: 'startup-node-unregistered', message };
  }
  if (isOfKarpenter(node) && node.metadata.labels?.[registeredLabel] !== 'true') {
    const message = `Karpenter has not registered the node yet: it has no label ${registeredLabel}=true`;
    return { code: 'startup-node-unregistered', message };
  }
  if (bears(uninitialisedTaint)) {
    const message = `the cloud provider has not initialised the node yet: it bears ${uninitialisedTaint}`;
    return { code: 'startup-node-uninitialised', message };
  }
  return undefined;
}

function overdueText(wait: readonly Waiting[]): string {
  return wait.map(({ name, message }) => `${startupTaintKey(name)}: ${message}`).join('; ');
}

function podText({ metadata, status }: Pod): string {
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const why =
    statuses.map(({ state }) => state?.waiting?.reason).find((reason) => reason !== undefined) ??
    status.reason ??
    status.phase ??
    'no phase';
  return `${metadata.name}: ${why}`;
}

function podsByPair(pods: readonly Pod[]): Map<string, Pod[]> {
  const found = new Map<string, Pod[]>();
  for (const pod of pods) {
    const { nodeName } = pod.spec;
    // By uid: a DaemonSet that was made anew under the old name has proved nothing yet.
    const uid = daemonSetUidOf(pod);
    if (nodeName === undefined || uid === undefined) continue;
    // Owners are of the pod's own namespace; anybody may write a reference to another one.
    const key = pairKey({ uid, namespace: pod.metadata.namespace }, nodeName);
    const known = found.get(key);
    if (known === undefined) found.set(key, [pod]);
    else known.push(pod);
  }
  return found;
}

function pairKey(
  { uid, namespace }: { uid: string; namespace?: string | undefined },
  node: string,
): string {
  return `${namespace} ${uid} ${node}`;
}
