/**
 * Gathers what a person is told with a question: one more read of the cluster, the node's faults,
 * and the plan of its drain. A read that fails does not keep the question from being asked: it says
 * what is not known.
 */

import { parseTime } from '../clock.ts';
import type { AppliedPolicy } from '../config/approval-policy.ts';
import type { Config } from '../config/model.ts';
import { messageOf } from '../errors.ts';
import { faultsOf, faultText, subjectOf } from '../gap/fault.ts';
import type { Fault } from '../gap/model.ts';
import { shorten } from '../gap/words.ts';
import { conditionOf } from '../kubernetes/objects.ts';
import type { ClusterReader } from '../ports.ts';
import type { Question } from '../safety/approvals.ts';
import type { FaultFact, QuestionFacts } from '../safety/question-facts.ts';
import { readDrainPlan } from './drain.ts';
import type { DrainPlan } from './drain-plan.ts';
import { policyIn } from './policy-in.ts';
import { answersOf } from './question-answers.ts';
import { budgetsOfPlan, podsOf } from './question-pods.ts';
import { nodeKindOf } from './replacement.ts';
import { readSituation, type Situation, type SituationPorts } from './situation.ts';
import type { WorkflowState } from './workflow-state.ts';

export type { FaultFact, PodGroup, QuestionFacts } from '../safety/question-facts.ts';

/** Faults that are told in full, and characters of a text: with 20 pods a group all is below 100 KB. */
const mostFaults = 10;
const longestText = 400;

export interface QuestionAsked {
  state: WorkflowState;
  question: Question;
  /** Epoch ms. */
  deadline: number;
}

/** Reads and tells. Never throws for a cluster that cannot be read. */
export async function gatherFacts(
  ports: SituationPorts,
  connect: () => Promise<ClusterReader>,
  asked: QuestionAsked,
): Promise<QuestionFacts> {
  const { config } = await ports.config();
  const unread: string[] = [];
  let situation: Situation | undefined;
  let plan: DrainPlan | undefined;
  try {
    const reader = await connect();
    situation = await readSituation(ports, reader, asked.state, 'quick');
    const options = { config: config.drain, clock: ports.clock };
    const read = await readDrainPlan(reader, asked.state, options);
    if (read.kind === 'plan') plan = read.plan;
    else unread.push(`the pods of the node: there is no such node any more`);
  } catch (error) {
    const what = situation === undefined ? 'the cluster' : 'the pods of the node';
    unread.push(`${what} could not be read: ${shorten(messageOf(error), 300)}`);
  }
  return factsOf({ ...asked, config, situation, plan, unread, now: ports.clock.now() });
}

export interface FactsRead extends QuestionAsked {
  config: Config;
  situation:
    | Pick<Situation, 'node' | 'claim' | 'place' | 'mark' | 'judgement' | 'detection'>
    | undefined;
  plan: DrainPlan | undefined;
  unread: string[];
  /** Epoch ms. */
  now: number;
}

/** The facts from what was read, and from what the attempt knows where nothing was. */
export function factsOf(read: FactsRead): QuestionFacts {
  const { state, question, config, situation, plan, now, deadline } = read;
  const node = situation?.node?.metadata.uid === state.nodeUid ? situation.node : undefined;
  const claim = situation?.claim ?? { kind: 'none' };
  const applied = policyIn(config, state, situation);
  const createdAt = parseTime(node?.metadata.creationTimestamp);
  const faults = faultFacts(read);
  const mark = situation?.mark;
  const answerFacts = {
    config,
    policy: applied.policy,
    node,
    claim,
    plan,
    tainted: (mark?.kind === 'ours' && mark.mark.tainted) || state.taint?.next === 'tainted',
  };
  return {
    cluster: state.cluster,
    node: state.node,
    asks: asksText(question, applied),
    ...(node === undefined
      ? {}
      : {
          ...situation?.place,
          kind: nodeKindOf(node, claim.kind === 'found' ? claim.claim : undefined),
          ...(createdAt === undefined ? {} : { createdAt }),
          ready: conditionOf(node.status.conditions, 'Ready')?.status === 'True',
        }),
    faults: faults.slice(0, mostFaults),
    moreFaults: Math.max(0, faults.length - mostFaults),
    answers: answersOf(question, answerFacts),
    ...(question === 'drain-blocked' && state.drain !== undefined
      ? { drain: shorten(state.drain.message, longestText * 4) }
      : {}),
    ...(plan === undefined ? {} : { pods: podsOf(plan) }),
    budgets: plan === undefined ? [] : budgetsOfPlan(plan),
    unread: read.unread,
    readAt: now,
    deadline,
  };
}

function asksText(question: Question, { policy, from }: AppliedPolicy): string {
  if (question === 'drain-blocked') {
    return `the drain cannot go on (approvals.${from}: ${policy})`;
  }
  return `a person is asked before this node is drained (approvals.${from}: ${policy})`;
}

/**
 * What the node is acted on for now, or else what is seen on it: AWS is not asked here, so a node that
 * is not Ready may not be judged. Where nothing is seen, what it was isolated for: behind nodegap's own
 * taint a gap looks like another one.
 */
function faultFacts({ situation, state }: FactsRead): FaultFact[] {
  const judgement = situation?.judgement;
  if (judgement?.kind === 'act') {
    const { primary, gaps } = judgement;
    return [primary, ...gaps.filter((gap) => gap !== primary)].map(factOf);
  }
  const { confirm } = state;
  const seen = faultsOf(situation?.detection ?? { gaps: [] }).filter(
    ({ nodeUid, required, cause }) =>
      nodeUid === state.nodeUid && required && cause !== 'untolerated-taint',
  );
  if (seen.length > 0 || confirm === undefined || confirm.daemonSets === '') {
    return seen.map(factOf);
  }
  return confirm.daemonSets.split(',').map((subject) => ({
    subject,
    text: subject,
    cause: confirm.cause,
    blame: confirm.blame,
    blameReason: 'as it was when the node was isolated',
    since: confirm.since,
    message: shorten(
      judgement === undefined ? confirm.message : `${confirm.message}; now: ${judgement.message}`,
      longestText,
    ),
  }));
}

function factOf(fault: Fault): FaultFact {
  return {
    subject: subjectOf(fault),
    text: faultText(fault),
    cause: fault.cause,
    blame: fault.blame,
    blameReason: shorten(fault.blameReason, longestText),
    since: fault.since,
    message: shorten(fault.message, longestText),
  };
}
