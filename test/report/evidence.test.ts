import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defaultConfig } from '../../lib/config/load.ts';
import { detectionPolicyOf } from '../../lib/config/required.ts';
import { detect } from '../../lib/gap/detect.ts';
import { type Cause, type ClusterFacts, causes, type Evidence } from '../../lib/gap/model.ts';
import { factsFromList } from '../../lib/kubernetes/dump.ts';
import type { Node, PodSpec } from '../../lib/kubernetes/objects.ts';
import { actionableGaps } from '../../lib/remediation/actionable.ts';
import { explainNode } from '../../lib/report/explain.ts';
import {
  type ExplainReport,
  explainReport,
  type ReportedPair,
} from '../../lib/report/explain-report.ts';
import {
  condition,
  container,
  crashing,
  type DaemonSetOptions,
  daemonSet,
  day,
  deleting,
  event,
  facts,
  hour,
  minute,
  node,
  now,
  type Parts,
  past,
  pod,
  readyStatus,
  second,
  unreadyStatus,
  waiting,
} from '../gap/build.ts';

function reportOf(whole: ClusterFacts, name = 'n1', startupTaints: string[] = []): ExplainReport {
  const config = { ...defaultConfig('prod', 'eu-west-1'), startupTaints };
  const policy = detectionPolicyOf(config, { allDaemonSets: true });
  const detection = detect(whole, policy, now);
  const found = whole.nodes.find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new Error(`no node ${name}`);
  const explanation = explainNode({
    facts: whole,
    policy,
    detection,
    verdicts: actionableGaps(detection, whole, config, now),
    config,
    node: found,
    daemonSets: whole.daemonSets,
  });
  return explainReport(explanation, {
    cluster: 'prod',
    now,
    mode: 'observe',
    config,
    context: undefined,
    drain: { unread: 'not read' },
  });
}

const explained = (parts: Parts, ...more: string[][]) => reportOf(facts(parts), 'n1', ...more);

/** The one pair of `agent` on `n1`. */
function pairOf(parts: Parts, startupTaints: string[] = []): ReportedPair {
  const [pair] = explained(parts, startupTaints).daemonSets;
  if (pair === undefined) throw new Error('no pair');
  return pair;
}

/** Says something about objects, and somewhere what would change the verdict. */
function expectWhole(evidence: readonly Evidence[]): void {
  expect(evidence).not.toEqual([]);
  for (const { object, field, value, wouldChange } of evidence) {
    expect(object).toMatch(/^(node|pod|daemonset|nodeclaim|event on \w+) \S+$/);
    expect(field).toMatch(/^\S/);
    expect(value).not.toBe('');
    expect(value).not.toContain('undefined');
    expect(wouldChange).not.toBe('');
  }
  expect(evidence.some(({ wouldChange }) => wouldChange !== undefined)).toBe(true);
}

const fieldsOf = (evidence: readonly Evidence[]) =>
  evidence.map(({ field, value }) => `${field}=${value}`);
const terms =
  'spec.template.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';

function affinity(nodeSelectorTerms: object[]): PodSpec {
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  return { affinity: { nodeAffinity: required } } as PodSpec;
}

const expression = (key: string, operator: string, ...values: string[]) => {
  return { matchExpressions: [{ key, operator, ...(values.length > 0 ? { values } : {}) }] };
};

describe('the evidence of a pair that is ok', () => {
  it('is the pod with its Ready condition', () => {
    const pair = pairOf({ nodes: [node('n1')], pods: [pod('n1')] });
    expect(pair.verdict).toBe('ok');
    expectWhole(pair.evidence);
    expect(fieldsOf(pair.evidence)).toEqual([
      'status.phase=Running',
      'status.conditions[Ready].status=True',
    ]);
    expectWhole(pair.shouldRun.evidence);
  });
});

describe('why a DaemonSet should run on a node', () => {
  const shouldRun = (template: PodSpec, options: Parameters<typeof node>[1]) => {
    const daemonSets = [daemonSet('agent', { template })];
    return pairOf({ nodes: [node('n1', options)], daemonSets }).shouldRun;
  };
  const exists = { operator: 'Exists' };

  it('names every selector that holds, and the term that matches by its place', () => {
    const second = { ...expression('b', 'In', 'y'), ...matchName };
    const template = {
      nodeSelector: { os: 'linux' },
      ...affinity([expression('a', 'Exists'), second]),
    };
    const { evidence } = shouldRun(template, { labels: { os: 'linux', b: 'y' } });
    expectWhole(evidence);
    expect(fieldsOf(evidence)).toEqual([
      'spec.template.spec.nodeSelector[os]=linux, and the node has linux',
      `${terms}[1].matchExpressions[0]=b In [y], and the node has y`,
      `${terms}[1].matchFields[0]=metadata.name In [n1], and the node has n1`,
    ]);
    expect(evidence[0]?.wouldChange).toBe(
      'metadata.labels[os] of node n1 does not match it any more',
    );
  });

  it('names taints that would keep it out and are tolerated or looked past, each once', () => {
    const taints = [
      { key: 'soft', effect: 'PreferNoSchedule' },
      { key: 'dedicated', effect: 'NoSchedule' },
      { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
      { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' },
    ];
    const tolerant = shouldRun({ tolerations: [exists] }, { taints });
    expect(tolerant).toMatchObject({ should: true, byController: true });
    expect(fieldsOf(tolerant.evidence).slice(1)).toEqual([
      'spec.taints[1]=dedicated:NoSchedule',
      'spec.taints[2]=karpenter.sh/unregistered:NoExecute',
      'spec.taints[3]=nodegap.dev/daemonset-gap:NoSchedule',
    ]);
    const strict = shouldRun({}, { taints: taints.slice(3) });
    expect(strict).toMatchObject({ should: true, byController: false });
    expect(strict.evidence.at(-1)).toMatchObject({
      field: 'spec.taints[0]',
      wouldChange: expect.stringContaining('goes away, or the DaemonSet tolerates it'),
    });
  });
});

const matchName = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] };

describe('the evidence of a pair that is settling', () => {
  it('is since when the pod is Ready, and how long it has to be', () => {
    const settling = pod('n1', { status: readyStatus(10 * second) });
    const pair = pairOf({
      nodes: [node('n1')],
      pods: [settling],
      daemonSets: [daemonSet('agent', { spec: { minReadySeconds: 30 } })],
    });
    expect(pair.verdict).toBe('settling');
    expectWhole(pair.evidence);
    expect(pair.evidence.slice(2)).toEqual([
      {
        object: `pod kube-system/${settling.metadata.name}`,
        field: 'status.conditions[Ready].lastTransitionTime',
        value: '2026-11-29T11:59:50Z',
      },
      {
        object: 'daemonset kube-system/agent',
        field: 'spec.minReadySeconds',
        value: '30',
        wouldChange: 'the pod stays Ready until 2026-11-29T12:00:20Z: then it counts as available',
      },
    ]);
  });
});

describe('the evidence of a pair that is not eligible', () => {
  const label = (name: string, value: string): Parameters<typeof node>[1] => {
    return { labels: { [name]: value } };
  };

  it.each<[string, PodSpec, Parameters<typeof node>[1], string[], string]>([
    [
      'nodeName',
      { nodeName: 'n7' },
      {},
      ['spec.template.spec.nodeName=n7', 'metadata.name=n1'],
      'the template is bound to this node, or to none',
    ],
    [
      'nodeSelector, a label of another value',
      { nodeSelector: { disk: 'ssd', os: 'linux' } },
      { labels: { disk: 'hdd', os: 'linux' } },
      ['spec.template.spec.nodeSelector[disk]=ssd', 'metadata.labels[disk]=hdd'],
      'the node gets label disk=ssd',
    ],
    [
      'In',
      affinity([expression('k', 'In', 'a', 'b')]),
      {},
      [`${terms}[0].matchExpressions[0]=k In [a, b]`, 'metadata.labels[k]=absent'],
      'label k of the node becomes one of a, b',
    ],
    [
      'In with one value',
      affinity([expression('k', 'In', 'a')]),
      {},
      [`${terms}[0].matchExpressions[0]=k In [a]`, 'metadata.labels[k]=absent'],
      'label k of the node becomes a',
    ],
    [
      'NotIn',
      affinity([expression('k', 'NotIn', 'a')]),
      label('k', 'a'),
      [`${terms}[0].matchExpressions[0]=k NotIn [a]`, 'metadata.labels[k]=a'],
      'label k of the node becomes something else, or goes away',
    ],
    [
      'Exists',
      affinity([expression('k', 'Exists')]),
      {},
      [`${terms}[0].matchExpressions[0]=k Exists`, 'metadata.labels[k]=absent'],
      'the node gets label k',
    ],
    [
      'DoesNotExist',
      affinity([expression('k', 'DoesNotExist')]),
      label('k', 'x'),
      [`${terms}[0].matchExpressions[0]=k DoesNotExist`, 'metadata.labels[k]=x'],
      'label k of the node goes away',
    ],
    [
      'Gt',
      affinity([expression('k', 'Gt', '5')]),
      label('k', '5'),
      [`${terms}[0].matchExpressions[0]=k Gt [5]`, 'metadata.labels[k]=5'],
      'label k of the node becomes an integer above 5',
    ],
    [
      'Lt',
      affinity([expression('k', 'Lt', '5')]),
      label('k', '5'),
      [`${terms}[0].matchExpressions[0]=k Lt [5]`, 'metadata.labels[k]=5'],
      'label k of the node becomes an integer below 5',
    ],
    [
      'matchFields',
      affinity([{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n7'] }] }]),
      {},
      [`${terms}[0].matchFields[0]=metadata.name In [n7]`, 'metadata.name=n1'],
      'the field term names this node',
    ],
    [
      'an expression that is invalid',
      affinity([expression('k', 'NotIn')]),
      {},
      [`${terms}[0].matchExpressions[0]=k NotIn`],
      'it is put right (k NotIn: no values): as it is it matches no node',
    ],
    [
      'an empty term',
      affinity([{}]),
      {},
      [`${terms}[0]={}`],
      'the term gets an expression: an empty one matches no node',
    ],
    ['no terms', affinity([]), {}, [`${terms}=[]`], 'it gets a term that matches the node'],
  ])('names field and value of both sides: %s', (_, template, options, fields, change) => {
    const pair = pairOf({
      nodes: [node('n1', options)],
      daemonSets: [daemonSet('agent', { template })],
    });
    expect(pair.verdict).toBe('not-eligible');
    expectWhole(pair.evidence);
    expect(fieldsOf(pair.evidence)).toEqual(fields);
    expect(pair.evidence.at(-1)?.wouldChange).toBe(change);
    expect(pair.shouldRun).toMatchObject({ should: false, byController: false });
  });

  it('names what fails of every term, and nothing of what holds', () => {
    const both = [
      {
        matchExpressions: [
          { key: 'a', operator: 'Exists' },
          { key: 'os', operator: 'Exists' },
        ],
      },
      expression('b', 'Exists'),
    ];
    const pair = pairOf({
      nodes: [node('n1', { labels: { os: 'linux' } })],
      daemonSets: [daemonSet('agent', { template: affinity(both) })],
    });
    expect(fieldsOf(pair.evidence)).toEqual([
      `${terms}[0].matchExpressions[0]=a Exists`,
      'metadata.labels[a]=absent',
      `${terms}[1].matchExpressions[0]=b Exists`,
      'metadata.labels[b]=absent',
    ]);
  });

  it('names each taint by its place, and the tolerations that there are', () => {
    const taints = [
      { key: 'soft', effect: 'PreferNoSchedule' },
      { key: 'known', effect: 'NoSchedule' },
      { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' },
    ];
    const tolerations = [{ key: 'known', operator: 'Exists' }];
    const pair = pairOf({
      nodes: [node('n1', { taints })],
      daemonSets: [daemonSet('agent', { template: { tolerations } })],
    });
    expectWhole(pair.evidence);
    expect(fieldsOf(pair.evidence)).toEqual([
      'spec.taints[2]=dedicated=gpu:NoSchedule',
      'spec.template.spec.tolerations=known exists',
    ]);
  });

  it('is the deletion of the DaemonSet', () => {
    const options: DaemonSetOptions = { metadata: { deletionTimestamp: past(minute) } };
    const pair = pairOf({ nodes: [node('n1')], daemonSets: [daemonSet('agent', options)] });
    expect(pair.verdict).toBe('not-eligible');
    expectWhole(pair.evidence);
    expect(fieldsOf(pair.evidence)).toEqual([`metadata.deletionTimestamp=${past(minute)}`]);
  });

  it('is what leaves the node out', () => {
    const leaving = node('n1', {
      taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }],
    });
    const report = explained({ nodes: [leaving] });
    expect(report.node.state).toBe('left-out');
    expect(report.node.leftOut?.kind).toBe('leaving');
    expectWhole(report.node.leftOut?.evidence ?? []);
    expect(report.daemonSets[0]).toMatchObject({ verdict: 'not-eligible' });
    expect(report.daemonSets[0]?.evidence).toEqual(report.node.leftOut?.evidence);
    expect(report).not.toHaveProperty('drain');
  });
});

describe('the evidence of a pair of which nothing can be said', () => {
  const initialising = node('n1', {
    taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
  });
  const silent = node('n1', {
    conditions: [condition('Ready', 'True', hour, { lastHeartbeatTime: past(hour) })],
  });
  const bare = node('n1', { conditions: [] });
  const mute = pod('n1', { status: { phase: 'Running' } });

  it.each<[string, Parts, string, string]>([
    ['node-initialising', { nodes: [initialising] }, 'spec.taints[0]', 'ready'],
    [
      'heartbeat-stale',
      { nodes: [silent] },
      'status.conditions[Ready].lastHeartbeatTime',
      'unknown',
    ],
    ['node-conditions-missing', { nodes: [bare] }, 'status.conditions[Ready].status', 'unknown'],
    ['pod-conditions-missing', { nodes: [node('n1')], pods: [mute] }, 'status.phase', 'ready'],
  ])('is there for %s', (reason, parts, field, state) => {
    const report = explained(parts);
    expect(report.daemonSets[0]).toMatchObject({ verdict: 'unknown', reason });
    expect(report.daemonSets[0]).not.toHaveProperty('gap');
    expectWhole(report.daemonSets[0]?.evidence ?? []);
    expect(report.daemonSets[0]?.evidence[0]?.field).toBe(field);
    expect(report.node.state).toBe(state);
  });

  it('is there for start-up taints within their grace', () => {
    const young = node('n1', { age: minute, taints: [{ key: 'a/b', effect: 'NoSchedule' }] });
    const pair = pairOf({ nodes: [young] }, ['a/b']);
    expect(pair).toMatchObject({ verdict: 'unknown', reason: 'node-initialising' });
    expectWhole(pair.evidence);
  });

  it('stands at the top for the node and the whole read', () => {
    expect(explained({ nodes: [silent] }).unknown).toMatchObject([{ reason: 'heartbeat-stale' }]);
    const stuck = pod('n1', {
      age: hour,
      status: unreadyStatus(hour, [waiting('ContainerCreating')]),
    });
    const unread = explained({
      nodes: [node('n1')],
      pods: [stuck],
      events: { unread: 'forbidden' },
    });
    expect(unread.unknown).toMatchObject([
      { reason: 'events-unavailable', evidence: [{ object: 'events', value: 'forbidden' }] },
    ]);
    expect(unread.node.state).toBe('ready');
  });
});

describe('the evidence of a gap', () => {
  const status = (...states: Parameters<typeof unreadyStatus>[1]) => ({
    pods: [pod('n1', { age: hour, status: unreadyStatus(hour, states, { phase: 'Running' }) })],
  });
  const unscheduled = (message: string): Parts => ({
    pods: [
      pod('n1', {
        age: hour,
        bound: false,
        status: {
          phase: 'Pending',
          conditions: [
            condition('PodScheduled', 'False', hour, { reason: 'Unschedulable', message }),
          ],
        },
      }),
    ],
  });
  const creating = pod('n1', {
    age: hour,
    status: unreadyStatus(hour, [waiting('ContainerCreating')]),
  });
  const told = (reason: string, message: string): Parts => ({
    pods: [creating],
    events: [event(creating, 'Pod', reason, message)],
  });
  const old = (nodes: Node[]): Parts => ({ nodes });

  const byCause: Record<Cause, Parts> = {
    missing: {},
    'create-blocked': {
      events: [event(daemonSet(), 'DaemonSet', 'FailedCreate', 'exceeded quota: pods')],
    },
    'unschedulable-resources': unscheduled('0/1 nodes are available: 1 Insufficient cpu.'),
    'unschedulable-ports': unscheduled(
      "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    ),
    'untolerated-taint': old([
      node('n1', { taints: [{ key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' }] }),
    ]),
    'image-pull': status(waiting('ImagePullBackOff')),
    'config-error': status(waiting('CreateContainerConfigError')),
    volume: told('FailedMount', 'MountVolume.SetUp failed for volume "x": timed out'),
    sandbox: told('FailedCreatePodSandBox', 'failed to setup network'),
    'crash-loop': { pods: [crashing('n1')] },
    'oom-killed': status(
      waiting('CrashLoopBackOff', {
        restartCount: 3,
        lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
      }),
    ),
    'not-ready': status(container({ running: { startedAt: past(hour) } })),
    starting: {
      pods: [
        pod('n1', {
          age: minute,
          status: unreadyStatus(minute, [waiting('ContainerCreating')]),
        }),
      ],
    },
    terminating: { pods: [deleting(minute)] },
    rollout: {
      pods: [
        pod('n1', {
          age: 20 * second,
          revision: 'rev-b',
          status: unreadyStatus(20 * second, [waiting('ContainerCreating')]),
        }),
        pod('n2'),
        pod('n3'),
      ],
      nodes: [node('n1'), node('n2'), node('n3')],
    },
    'node-not-ready': old([node('n1', { conditions: [condition('Ready', 'False', hour)] })]),
    evicted: { pods: [pod('n1', { age: hour, status: { phase: 'Failed', reason: 'Evicted' } })] },
    unknown: { pods: [pod('n1', { age: hour, status: { phase: 'Pending' } })] },
  };

  it.each(causes.map((cause) => [cause, byCause[cause]] as const))(
    'is there for %s',
    (cause, parts) => {
      const pair = pairOf({ nodes: [node('n1')], ...parts });
      expect(pair).toMatchObject({ verdict: 'gap', gap: { cause } });
      expectWhole(pair.evidence);
      expectWhole(pair.gap?.blameEvidence ?? []);
      expect(pair.action?.would).toMatch(/^(act|wait|nothing)$/);
      expect(pair.gap?.graceEndsAt).toMatch(/Z$/);
    },
  );

  it('tells when the grace ends and from when on it can be confirmed', () => {
    const pair = pairOf({ nodes: [node('n1')], pods: [crashing('n1')] });
    expect(pair.gap).toMatchObject({
      since: past(hour),
      graceEndsAt: past(55 * minute),
      confirmedFrom: past(54 * minute),
      pastGrace: true,
      confirmed: true,
    });
    const young = pairOf({ nodes: [node('n1', { age: 4 * minute })], pods: [crashing('n1')] });
    expect(young.gap).toMatchObject({
      graceEndsAt: past(-6 * minute),
      confirmedFrom: past(-7 * minute),
      pastGrace: false,
    });
    const late = pairOf({
      nodes: [node('n1', { age: day, conditions: [condition('Ready', 'False', minute)] })],
      pods: [pod('n1')],
    });
    expect(late.gap).toMatchObject({ since: past(minute), confirmedFrom: past(0) });
  });
});

describe('a quick read', () => {
  it('is evidence of health by the table of pods', () => {
    const quick = new Map([['uid-ds-agent', new Set(['n1'])]]);
    const report = reportOf({ ...facts({ nodes: [node('n1')] }), quick });
    expect(report.daemonSets[0]).toMatchObject({ verdict: 'ok' });
    expectWhole(report.daemonSets[0]?.evidence ?? []);
  });
});

describe('every pair of every reported cluster', () => {
  const root = join(import.meta.dirname, '../gap/fixtures');
  it.each(['C01', 'C09', 'C16', 'C22', 'C28', 'C33', 'C37', 'C42', 'C44', 'C46', 'C71'])(
    '%s has evidence',
    (name) => {
      const list = JSON.parse(readFileSync(join(root, name, 'cluster.json'), 'utf8'));
      const whole = factsFromList(list);
      for (const { metadata } of whole.nodes) {
        const report = reportOf(whole, metadata.name, ['node.cilium.io/agent-not-ready']);
        expectWhole(report.node.evidence);
        for (const pair of report.daemonSets) {
          expectWhole(pair.evidence);
          expectWhole(pair.shouldRun.evidence);
          if (pair.gap !== undefined) expectWhole(pair.gap.blameEvidence);
        }
      }
    },
  );
});
