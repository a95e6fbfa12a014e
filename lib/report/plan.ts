/** What nodegap would do about an actionable fault, step by step, in words (docs/workflow.md). */
import { policyOfFault } from '../config/approval-policy.ts';
import { formatDuration } from '../config/duration.ts';
import type { Config } from '../config/model.ts';
import { requirementOf } from '../config/required.ts';
import { intentEligibility } from '../gap/eligibility.ts';
import { isConditionFault, subjectOf } from '../gap/fault.ts';
import type { ClusterFacts, Fault } from '../gap/model.ts';
import { claimFinder, type FaultVerdict } from '../remediation/actionable.ts';
import { chooseTaint } from '../remediation/isolation.ts';
import { ladderOf } from '../remediation/ladder.ts';
import { methodFor } from '../remediation/replaceable.ts';
import { type NodeKind, nodeKindOf } from '../remediation/replacement.ts';
import { isolationTaint } from '../safety/ownership.ts';

export interface PlanStep {
  /** A few words; the main steps joined by arrows make the ACTION column. */
  name: string;
  detail: string;
  /** Steps that wait or look are left out of the ACTION column. */
  main: boolean;
}

export interface PlanInput {
  verdict: Extract<FaultVerdict, { kind: 'actionable' }>;
  config: Config;
  kind: NodeKind;
  /** The node's NodeClaim: its name, `none`, or `unread` when claims could not be read. */
  claim: { name: string } | 'none' | 'unread';
  /** Whether the taint comes with the cordon, and why (chooseTaint). */
  taint: { taint: boolean; reason: string };
}

/** Plans for the actionable gaps of one read. */
export function plannerFor(
  facts: ClusterFacts,
  config: Config,
): (verdict: PlanInput['verdict']) => PlanStep[] {
  const claimFor = claimFinder(facts);
  const required = facts.daemonSets.filter((each) => requirementOf(config, each) !== undefined);
  const nodes = new Map(facts.nodes.map((node) => [node.metadata.uid, node]));
  return (verdict) => {
    const node = nodes.get(verdict.gap.nodeUid);
    if (node === undefined) return [];
    const claim = claimFor(node);
    const owner = node.metadata.ownerReferences?.find(({ kind }) => kind === 'NodeClaim');
    // A dump often holds no NodeClaims, but the node names its own.
    const name = claim?.metadata.name ?? (facts.nodeClaims.ok ? undefined : owner?.name);
    const unnamed = facts.nodeClaims.ok ? 'none' : 'unread';
    const requiredHere = required.filter(
      (each) => intentEligibility(node, each, config.startupTaints).kind === 'eligible',
    );
    return planFor({
      verdict,
      config,
      kind: nodeKindOf(node, claim),
      claim: name === undefined ? unnamed : { name },
      taint: chooseTaint(requiredHere),
    });
  };
}

/** The steps, in order. Every one before `replace` is undone when the node recovers. */
export function planFor(input: PlanInput): PlanStep[] {
  const { verdict, config, taint } = input;
  const { gap, canary } = verdict;
  const { timings } = config;
  const ladder = ladderOf(gap.cause);
  if (ladder.kind !== 'replace') return [];
  if (methodFor(input.kind, config.replacement) === 'defer') return [];
  const restart = ladder.restartFirst || canary;
  const isolation = taint.taint
    ? `cordon, and taint with ${isolationTaint.key}:${isolationTaint.effect} at once: ${taint.reason}`
    : `cordon; no taint yet, ${taint.reason}`;
  const steps = [
    main('isolate', isolation),
    ...(restart ? [main('restart pod', `once, pod of ${subjectOf(gap)}`)] : []),
    step(
      'wait',
      `hold-down ${formatDuration(timings.holdDown)}; healthy for ${formatDuration(timings.holdUp)} undoes it all`,
    ),
  ];
  if (gap.ceiling === 'isolate') {
    return [...steps, step('stay isolated', isolationOnly(gap))];
  }
  const byHand = handedOver(input);
  if (byHand !== undefined) return [...steps, main('hand to a person', byHand)];
  return [...steps, ...untilReplaced(input, ladder.drainBeforeTaint, taint.taint)];
}

function untilReplaced(input: PlanInput, drainFirst: boolean, tainted: boolean): PlanStep[] {
  const { config } = input;
  const { timings } = config;
  const ask = step('ask', `a person, up to ${formatDuration(timings.approval)}; no answer is a no`);
  const taint = step('taint', `${isolationTaint.key}:${isolationTaint.effect}`);
  const drain = main(
    'drain',
    `through the eviction API, budgets respected, up to ${formatDuration(timings.drain)}`,
  );
  const recheck = main('recheck', 'the room that the drain made may cure it');
  return [
    ...(policyOfFault(config.approvals, input.verdict.gap) === 'always' ? [ask] : []),
    ...(drainFirst ? [drain, recheck] : []),
    ...(tainted ? [] : [taint]),
    ...(drainFirst ? [] : [drain]),
    main('replace', replacementOf(input)),
    step(
      'verify',
      `the new node has its required DaemonSets Ready within ${formatDuration(timings.verification)}`,
    ),
  ];
}

function replacementOf({ config, kind, claim }: PlanInput): string {
  if (methodFor(kind, config.replacement) === 'terminate-instance') {
    return 'end the instance through its Auto Scaling group, if that would bring a new one';
  }
  return `delete ${typeof claim === 'object' ? `NodeClaim ${claim.name}` : 'its NodeClaim'}`;
}

function isolationOnly(fault: Fault): string {
  if (!isConditionFault(fault)) return 'the configuration allows no more for this DaemonSet';
  return fault.loweredBecause ?? 'the configuration allows no more for this condition';
}

/** Why nodegap stops at isolation and leaves the replacement to a person. */
function handedOver({ config, kind, claim }: PlanInput): string | undefined {
  const method = methodFor(kind, config.replacement);
  if (method === 'notify') {
    return `nodes of kind ${kind} are replaced by a person; the node stays isolated`;
  }
  if (method === 'terminate-instance') return undefined;
  return claim === 'none' ? 'the node has no NodeClaim; it stays isolated' : undefined;
}

/** `isolate → drain → replace`, with what is said of the drain in brackets after it. */
export function planArrow(steps: readonly PlanStep[], ofDrain?: string): string {
  return steps
    .filter((one) => one.main)
    .map(({ name }) => (name === 'drain' && ofDrain !== undefined ? `${name} (${ofDrain})` : name))
    .join(' → ');
}

function main(name: string, detail: string): PlanStep {
  return { name, detail, main: true };
}

function step(name: string, detail: string): PlanStep {
  return { name, detail, main: false };
}
