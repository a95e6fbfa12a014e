/** What each answer to a question leads to, in words, by kind of node. */
import { formatDuration } from '../config/duration.ts';
import type { ApprovalPolicy, Config } from '../config/model.ts';
import { count } from '../gap/words.ts';
import type { Node } from '../kubernetes/objects.ts';
import { type Answer, answersTo, type Question } from '../safety/approvals.ts';
import { isolationTaint } from '../safety/ownership.ts';
import type { DrainPlan } from './drain-plan.ts';
import { methodFor } from './replaceable.ts';
import { type ClaimMatch, instanceOf, nodeKindOf } from './replacement.ts';

export interface AnswerFacts {
  config: Config;
  policy: ApprovalPolicy;
  /** As it was read; undefined where it could not be. */
  node: Node | undefined;
  claim: ClaimMatch;
  plan: DrainPlan | undefined;
  /** The node bears nodegap's taint already. */
  tainted: boolean;
}

/** A line for each step that an answer leads to. */
export function answersOf(
  question: Question,
  facts: AnswerFacts,
): { answer: Answer; will: string[] }[] {
  return answersTo[question].map((answer) => ({ answer, will: stepsOf(answer, facts) }));
}

const rereads =
  'everything is read again: nothing is done when the node is well by then or anything speaks against it';

function stepsOf(answer: Answer, facts: AnswerFacts): string[] {
  const undo = `the isolation is undone: uncordon${facts.tainted ? ' and remove the taint' : ''}`;
  switch (answer) {
    case 'approve':
      return [rereads, ...taint(facts), drain(facts, false), replace(facts), verify(facts)];
    case 'retry':
      return [rereads, drain(facts, true), replace(facts), verify(facts)];
    case 'proceed':
      return [rereads, replaceWithPods(facts), verify(facts)];
    case 'deny':
    case 'release':
      return [undo, 'the node is left alone for a day; its fault stays'];
  }
}

function taint({ tainted }: AnswerFacts): string[] {
  return tainted ? [] : [`taint ${isolationTaint.key}:${isolationTaint.effect}`];
}

function drain({ config, plan, policy }: AnswerFacts, consented: boolean): string {
  const asks = plan?.needsApproval.length ?? 0;
  const evictions = (plan?.evict.length ?? 0) + (plan?.orphanDaemonPods.length ?? 0);
  const blocked = plan?.blockedByBudget.length ?? 0;
  const pods = plan === undefined ? 'its pods' : count(evictions + blocked, 'pod');
  const also =
    consented && asks > 0
      ? `, and the ${count(asks, 'pod')} that ${asks === 1 ? 'needs' : 'need'} consent`
      : '';
  const stops =
    !consented && asks > 0
      ? `${count(asks, 'pod')} ${asks === 1 ? 'needs' : 'need'} a consent of a person first`
      : '';
  const end =
    config.drain.atDeadline === 'proceed'
      ? 'then go on with the pods that are left'
      : policy === 'never'
        ? 'when it is blocked, the node stays isolated'
        : 'when it is blocked, a person is asked';
  const time = formatDuration(config.timings.drain);
  const parts = [
    `evict ${pods}${also} through the eviction API, budgets respected, for up to ${time}`,
    ...(stops === '' ? [] : [stops]),
    end,
  ];
  return parts.join('; ');
}

function replace(facts: AnswerFacts): string {
  const { kind, byGroup } = wayOf(facts);
  return byGroup
    ? `end ${machineOf(facts)} through its Auto Scaling group, if that would bring a new one (${kind})`
    : `delete ${claimText(facts)}; ${karpenter(kind)} ends the machine`;
}

function replaceWithPods(facts: AnswerFacts): string {
  const { kind, byGroup } = wayOf(facts);
  return byGroup
    ? `end ${machineOf(facts)} at once through its Auto Scaling group, with the pods that are left on it, whatever their budgets say`
    : `delete ${claimText(facts)}: ${karpenter(kind)} goes on with the drain in its own way, and ends the machine`;
}

function wayOf({ node, claim, config }: AnswerFacts): { kind: string; byGroup: boolean } {
  if (node === undefined) return { kind: 'unknown', byGroup: false };
  const kind = nodeKindOf(node, claim.kind === 'found' ? claim.claim : undefined);
  return { kind, byGroup: methodFor(kind, config.replacement) === 'terminate-instance' };
}

function karpenter(kind: string): string {
  return kind === 'auto-mode' ? 'EKS Auto Mode' : 'Karpenter';
}

function claimText({ claim }: AnswerFacts): string {
  return claim.kind === 'found' ? `NodeClaim ${claim.claim.metadata.name}` : 'its NodeClaim';
}

function machineOf({ node }: AnswerFacts): string {
  const instance = instanceOf(node?.spec.providerID ?? '');
  return instance === undefined ? 'its machine' : `instance ${instance.instanceId}`;
}

function verify({ config }: AnswerFacts): string {
  const time = formatDuration(config.timings.verification);
  return `look for a new node with its required DaemonSets Ready, for up to ${time}`;
}
