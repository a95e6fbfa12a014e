/** Finds the nodes with a condition that the configuration names (docs/configuration.md). */
import { isoTime, parseTime } from '../clock.ts';
import type { Condition } from '../kubernetes/objects.ts';
import { anyMark } from '../safety/ownership.ts';
import { blameOfCondition, ConditionPeers } from './condition-blame.ts';
import {
  CONDITION_NODE_NOT_READY,
  type ConditionReading,
  readCondition,
} from './condition-reading.ts';
import { conditionSubject, conditionText } from './fault.ts';
import type { ConditionFault, ConditionRule, Evidence, UnknownEntry } from './model.ts';
import type { NodeView, Survey } from './survey.ts';
import { createdAt, type History, isConfirmed } from './timing.ts';
import { fieldText } from './words.ts';

export interface FoundConditions {
  faults: ConditionFault[];
  unknown: UnknownEntry[];
}

/** Judges every configured condition of every node that is looked at. Pure. */
export function conditionFaultsOf(survey: Survey): FoundConditions {
  const rules = survey.policy.conditions ?? [];
  const found: FoundConditions = { faults: [], unknown: [] };
  for (const type of new Set(rules.map((rule) => rule.type))) {
    const peers = new ConditionPeers();
    const faults: FoundFault[] = [];
    for (const view of survey.nodes) {
      if (view.leftOut !== undefined || view.health.kind === 'silent') continue;
      const history = survey.historyOf(view.node.metadata.uid, conditionSubject(type));
      const reading = readingOf(survey, view, type, history);
      if (reading.kind === 'unknown') found.unknown.push(unknownEntry(view, type, reading));
      if (reading.kind !== 'well' && reading.kind !== 'fault') continue;
      peers.add(view.zone, reading.kind === 'fault');
      if (reading.kind === 'fault') faults.push({ ...reading, view, history });
    }
    found.faults.push(...faults.map((fault) => faultFrom(survey, fault, peers)));
  }
  return found;
}

interface FoundFault extends Extract<ConditionReading, { kind: 'fault' }> {
  view: NodeView;
  history: History;
}

/** What a node that is not Ready says by other conditions is old news: `node-not-ready` covers it. */
function readingOf(
  { policy, now }: Survey,
  { node, health }: NodeView,
  type: string,
  history: History,
): ConditionReading {
  const record = history.kind === 'record' ? history.record : undefined;
  if (health.kind !== 'ready') {
    if (record === undefined) return { kind: 'silent' };
    const message = `${health.message}, so its condition ${type} cannot be believed`;
    return { kind: 'unknown', reason: CONDITION_NODE_NOT_READY, message };
  }
  const { conditions: rules = [], podGraceMs: settleMs } = policy;
  return readCondition(node, type, { rules, record, settleMs, now });
}

function faultFrom(survey: Survey, found: FoundFault, peers: ConditionPeers): ConditionFault {
  const { policy, now } = survey;
  const { view, condition: said, rule, history } = found;
  const { node, pool, zone } = view;
  const { type, reason } = said;
  const condition = {
    type,
    status: rule.status,
    ...(reason === undefined || reason === '' ? {} : { reason }),
  };
  const { start, graceEndsAt } = timesOf(survey, found);
  const { blame, reason: blameReason, evidence } = blameOfCondition(condition, zone, peers);
  const sinceIsolation = beganSinceIsolation(view, start);
  const lowered =
    rule.ceiling === 'replace' && start < createdAt(node) + policy.nodeGraceMs
      ? `${conditionText(condition)} came while the node started, and a detector that never takes a condition back may have left it so: a person decides`
      : undefined;
  const details = said.message === undefined || said.message === '' ? '' : `: ${said.message}`;
  return {
    node: node.metadata.name,
    nodeUid: node.metadata.uid,
    ...(pool === undefined ? {} : { pool }),
    ...(zone === undefined ? {} : { zone }),
    cause: 'node-condition',
    condition,
    required: true,
    ceiling: lowered === undefined ? rule.ceiling : 'isolate',
    ...(lowered === undefined ? {} : { loweredBecause: lowered }),
    ...(sinceIsolation ? { sinceIsolation } : {}),
    blame,
    blameReason,
    blameEvidence: evidence,
    since: start,
    graceEndsAt,
    pastGrace: now >= graceEndsAt,
    confirmed: isConfirmed(history, graceEndsAt, policy, now),
    message: `${conditionText(condition)} since ${isoTime(start)}${details}`,
    evidence: evidenceOf(view, said, rule),
  };
}

/**
 * Since when it is there, and until when its grace lasts: the longer of the node's grace and the
 * minimum age. A fault that goes on keeps its age through a new reason or a moment of health.
 */
function timesOf(
  { policy, now }: Survey,
  { view, condition, rule, history }: FoundFault,
): { start: number; graceEndsAt: number } {
  const firstSeen = history.kind === 'record' ? history.record.firstSeen : undefined;
  const said = Math.min(now, parseTime(condition.lastTransitionTime) ?? firstSeen ?? now);
  const start = Math.min(said, firstSeen ?? said);
  const graceEndsAt = Math.max(
    createdAt(view.node) + policy.nodeGraceMs,
    start + rule.minimumAgeMs,
  );
  return { start, graceEndsAt };
}

/** What came after nodegap isolated the node may be its own doing, as pods that do not end. */
function beganSinceIsolation({ node }: NodeView, start: number): true | undefined {
  const isolatedAt = parseTime(anyMark(node)?.at);
  return isolatedAt !== undefined && start >= isolatedAt ? true : undefined;
}

function evidenceOf({ node }: NodeView, said: Condition, rule: ConditionRule): Evidence[] {
  const object = `node ${node.metadata.name}`;
  const field = (name: string) => `status.conditions[${said.type}].${name}`;
  return [
    {
      object,
      field: field('status'),
      value: said.status,
      wouldChange: `its detector reports another status than ${rule.status}`,
    },
    { object, field: field('reason'), value: fieldText(said.reason) },
    { object, field: field('lastTransitionTime'), value: fieldText(said.lastTransitionTime) },
    {
      object,
      field: field('lastHeartbeatTime'),
      value: fieldText(said.lastHeartbeatTime),
      wouldChange: 'no report comes for 15 minutes: then nothing can be said of it',
    },
  ];
}

function unknownEntry(
  { node: { metadata } }: NodeView,
  type: string,
  { reason, message, condition }: Extract<ConditionReading, { kind: 'unknown' }>,
): UnknownEntry {
  return {
    node: metadata.name,
    nodeUid: metadata.uid,
    condition: type,
    reason,
    message,
    evidence: [
      {
        object: `node ${metadata.name}`,
        field: `status.conditions[${type}].lastHeartbeatTime`,
        value: fieldText(condition?.lastHeartbeatTime),
        wouldChange: 'its detector reports again',
      },
    ],
  };
}
