import type { Timings } from '../../lib/config/model.ts';
import type { Gap } from '../../lib/gap/model.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import type { ActingLadder, JudgeFacts, Judgement } from '../../lib/remediation/judge.ts';
import { ladderOf } from '../../lib/remediation/ladder.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';

/** Objects that decision tests share; each test overrides what it is about. */

export const t0 = Date.parse('2026-11-29T12:00:00Z');
export const minute = 60_000;

export const timings: Timings = {
  scan: 60,
  nodeGrace: 600,
  podGrace: 300,
  confirmationScans: 2,
  confirmation: 60,
  holdDown: 600,
  holdDownNodeNotReady: 1800,
  holdUp: 120,
  drain: 1800,
  approval: 43_200,
  verification: 900,
  volumes: 300,
  poll: 60,
  startupSoak: 30,
  startupDeadline: 900,
};

export function gapOf(overrides: Partial<Gap> = {}): Gap {
  return {
    node: 'n1',
    nodeUid: 'uid-n1',
    daemonSet: 'kube-system/aws-node',
    daemonSetUid: 'uid-ds',
    required: true,
    ceiling: 'replace',
    cause: 'not-ready',
    otherCauses: [],
    blame: 'node',
    blameReason: '9 of 9 peers are healthy',
    blameEvidence: [],
    since: t0 - 20 * minute,
    pastGrace: true,
    confirmed: true,
    message: 'container aws-node is not ready',
    evidence: [],
    ...overrides,
  };
}

export function nodeOf(name = 'n1', overrides: Partial<Node['metadata']> = {}): Node {
  return {
    metadata: { name, uid: `uid-${name}`, resourceVersion: '1', ...overrides },
    spec: {},
    status: { conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

export function judgeFactsOf(overrides: Partial<JudgeFacts> = {}): JudgeFacts {
  return {
    nodeName: 'n1',
    nodeUid: 'uid-n1',
    node: nodeOf(),
    cluster: {
      name: 'prod',
      region: 'eu-west-1',
      network: 'public',
      mode: 'act',
      manageAccessEntries: true,
      karpenterNodeRepair: 'on',
    },
    gaps: [gapOf()],
    unknown: [],
    doubt: undefined,
    veto: undefined,
    hold: undefined,
    breaker: undefined,
    tainted: false,
    ...overrides,
  };
}

export function stateOf(overrides: Partial<WorkflowState> = {}): WorkflowState {
  return { cluster: 'prod', node: 'n1', nodeUid: 'uid-n1', episode: 1, attempt: 1, ...overrides };
}

export function actOn(gap: Gap, overrides: Partial<Extract<Judgement, { kind: 'act' }>> = {}) {
  return {
    kind: 'act',
    gaps: [gap],
    primary: gap,
    ladder: ladderOf(gap.cause) as ActingLadder,
    reach: 'replace',
    ...overrides,
  } satisfies Judgement;
}
