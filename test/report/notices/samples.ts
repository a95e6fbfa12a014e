/** One notice of each kind, as docs/notifications.md prints them. */
import type { Notice } from '../../../lib/ports.ts';
import type { AuditFinding } from '../../../lib/prevention/findings.ts';
import type { Outcome } from '../../../lib/remediation/outcome.ts';
import type { WorkflowState } from '../../../lib/remediation/workflow-state.ts';
import { auditNotice } from '../../../lib/report/notices/audit-notice.ts';
import { breakerNotice } from '../../../lib/report/notices/breaker-notice.ts';
import { faultNotice } from '../../../lib/report/notices/fault-notice.ts';
import { observerNotice } from '../../../lib/report/notices/observer-notice.ts';
import { questionNotice } from '../../../lib/report/notices/question-notice.ts';
import { reportNotice } from '../../../lib/report/notices/report-notice.ts';
import { statusNotice } from '../../../lib/report/notices/status-notice.ts';
import { gapOf, minute, t0 } from '../../remediation/samples.ts';
import { sampleFacts } from '../../safety/question-samples.ts';

const node = 'ip-10-0-12-184.eu-west-1.compute.internal';
const execution =
  'arn:aws:states:eu-west-1:111122223333:execution:nodegap-public:prod-0a1b2c3d4e5f6071-e1-a1';
const ids = { cluster: 'prod', node, nodeUid: '5b6c', episode: 1, attempt: 1 };
const state: WorkflowState = {
  ...ids,
  confirm: {
    next: 'act',
    code: 'gap-confirmed',
    message: '',
    daemonSets: 'kube-system/aws-node',
    cause: 'crash-loop',
    blame: 'node',
    since: t0,
    isolated: false,
    pool: 'general',
    configSha: 'sha',
  },
};
const findings: AuditFinding[] = [
  {
    check: 'remover-without-attacher',
    severity: 'error',
    subject: { kind: 'NodePool', name: 'general', origin: { kind: 'cluster' } },
    message: 'no new node of it bears nodegap.dev/startup-aws-node',
    why: '',
    change: '',
  },
];

const report = (more: Partial<WorkflowState>, outcome: Partial<Outcome>): Notice =>
  reportNotice({
    state: { ...state, ...more },
    execution,
    outcome: {
      code: 'replaced',
      message: '',
      voice: 'notify',
      node: 'replaced',
      nextAttempt: 'never',
      closesEpisode: true,
      ...outcome,
    },
  });
const measured = {
  kind: 'pool',
  name: 'general',
  source: 'measured',
  openedAt: t0,
  lastAboveAt: t0,
  closesAt: t0 + 10 * minute,
  reopenUntil: t0 + 40 * minute,
  total: 10,
  unhealthy: 3,
  limit: 2,
  percent: 20,
  unhealthyNodes: ['ip-10-0-1-7', 'ip-10-0-2-9', 'ip-10-0-3-1'],
} as const;
const states = [{ ...measured, unhealthyNodes: [...measured.unhealthyNodes] }];
const question = {
  ...ids,
  id: 'a1b2c3',
  execution,
  question: 'replace' as const,
  facts: sampleFacts(t0, { node, pool: 'general' }),
  askedAt: t0,
  deadline: t0 + 12 * 60 * minute,
};

export const samples: Record<string, Notice> = {
  replaced: report(
    {
      verification: {
        next: 'verified',
        code: 'replaced',
        message: '',
        polls: 3,
        waitSeconds: 30,
        quietSince: 0,
        newNode: 'ip-10-0-3-26.eu-west-1.compute.internal',
      },
    },
    { message: `${node} is gone; ip-10-0-3-26.eu-west-1.compute.internal took its place` },
  ),
  'stays isolated': report(
    {},
    {
      code: 'drain-blocked',
      message:
        'nobody answered: 1 pod still to leave: default/db-0 (budget default/db allows none)',
      voice: 'alert',
      node: 'isolated',
      nextAttempt: t0 + 60 * minute,
      closesEpisode: false,
    },
  ),
  failed: report(
    {},
    {
      code: 'failed',
      message: 'Kubernetes.forbidden: the role may not patch nodes',
      voice: 'alert',
      node: 'untouched',
      nextAttempt: t0 + 5 * minute,
      closesEpisode: false,
    },
  ),
  question: questionNotice(question, { stage: 'asked', now: t0 }),
  escalation: questionNotice(question, { stage: 'escalation', now: t0 + 8 * 60 * minute }),
  'breaker opened': breakerNotice('prod', 'opened', states),
  'breaker closed': breakerNotice('prod', 'closed', states),
  'fault left alone': faultNotice('prod', {
    code: 'blame-daemonset',
    message: '12 of 12 nodes of kube-system/aws-node fail in the same way',
    faults: ['n1', 'n2', 'n3'].map((name) =>
      gapOf({ node: name, cause: 'image-pull', message: 'cannot pull example.com/cni:v9' }),
    ),
  }),
  'view in doubt': observerNotice('prod', {
    code: 'observer-unwell',
    message: '6 of 10 nodes are not Ready',
  }),
  'status disagrees': statusNotice('prod', [
    {
      daemonSet: 'kube-system/aws-node',
      reason: 'status-disagrees',
      message: 'its status says 9 nodes should run it, nodegap counts 10',
    },
  ]),
  'audit changed': auditNotice(
    {
      cluster: 'prod',
      source: 'cluster',
      readAt: t0,
      daemonSets: ['kube-system/aws-node'],
      findings,
      notChecked: [
        {
          check: 'limit-at-or-below-use',
          reason: 'ConfigMaps, Secrets and usage are looked at only by the command line',
        },
      ],
    },
    {
      fresh: findings,
      ended: ['warning image-not-pinned, DaemonSet kube-system/aws-node'],
      known: [],
    },
  ),
};
