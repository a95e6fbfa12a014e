import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AuditCheck, auditChecks } from '../../lib/prevention/audit-checks.ts';
import type { KeyedObject, PreventionFacts, ServiceAccount } from '../../lib/prevention/facts.ts';
import { type AuditReport, auditSeverities } from '../../lib/prevention/findings.ts';
import { agent, audit, configOf, node, nodeGroup, noExecute, noSchedule } from './audited.ts';
import { eksDaemonSets } from './manifests.ts';
import { deployment, nodePool, notChecked, read } from './prevention-facts.ts';

const codes = Object.keys(auditChecks);
const root = join(import.meta.dirname, '..', '..');

describe('docs/audit.md', () => {
  const text = readFileSync(join(root, 'docs', 'audit.md'), 'utf8');
  const sections = text
    .split(/^### /m)
    .slice(1)
    .map((section) => [/^`([a-z-]+)`\n/.exec(section)?.[1] ?? '', section] as const);

  it('has a section for each check, and for no other', () => {
    const titles = sections.map(([title]) => title);
    expect([...titles].sort()).toEqual([...codes].sort());
  });

  it.each(sections)('says how bad %s is, and what to change', (_, section) => {
    expect(section).toMatch(/^Change: /m);
    expect(section).toMatch(/\b(error|warning|note)\b/i);
  });
});

describe('the tests of the checks', () => {
  const folder = join(import.meta.dirname, 'checks');
  const texts = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  it.each(codes)('have an example of %s', (code) => {
    expect(texts.some((text) => text.includes(`'${code}'`))).toBe(true);
  });
});

function lines({ findings }: AuditReport): string[] {
  return findings.map(
    ({ severity, check, subject }) => `${severity} ${check} ${subject.kind}/${subject.name}`,
  );
}

describe('DaemonSets as EKS ships them', () => {
  const shipped = ['aws-node', 'kube-proxy', 'ebs-csi-node', 'ebs-csi-node-windows'];
  const daemonSets = eksDaemonSets(...shipped);
  const configMaps = read(
    { namespace: 'kube-system', name: 'kube-proxy', keys: ['kubeconfig'] },
    { namespace: 'kube-system', name: 'kube-proxy-config', keys: ['config'] },
    { namespace: 'logging', name: 'aws-for-fluent-bit', keys: ['fluent-bit.conf'] },
  );
  const serviceAccounts = read<ServiceAccount>(
    ...eksDaemonSets().map(({ metadata, spec }) => ({
      namespace: metadata.namespace ?? '',
      name: spec.template.spec.serviceAccountName ?? '',
      imagePullSecrets: [],
    })),
  );
  const general = {
    'karpenter.sh/nodepool': 'general',
    'node.kubernetes.io/instance-type': 'm7i.large',
  };
  const nodes = read(node('a', general), node('b', general), node('c', general));
  const facts = {
    nodes,
    configMaps,
    serviceAccounts,
    secrets: read<KeyedObject>(),
    nodePools: read(nodePool('general')),
  };
  const startupTaints = [
    noSchedule('nodegap.dev/startup-aws-node'),
    noSchedule('nodegap.dev/startup-kube-proxy'),
    noExecute('ebs.csi.aws.com/agent-not-ready'),
  ];
  const ofTemplates = [
    'warning no-readiness-probe DaemonSet/ebs-csi-node',
    'warning no-readiness-probe DaemonSet/kube-proxy',
    'warning update-empties-nodes DaemonSet/ebs-csi-node',
    'warning update-empties-nodes DaemonSet/kube-proxy',
    'note update-empties-nodes DaemonSet/aws-node',
  ];

  it('lack startup taints, probes and time between the nodes of an update, and nothing else', () => {
    expect(lines(audit({ daemonSets, facts }))).toEqual([
      ...ofTemplates.slice(0, 2),
      'warning no-startup-taint NodePool/general',
      ...ofTemplates.slice(2),
    ]);
  });

  it('need no change of tolerations for startup taints', () => {
    const nodePools = read(nodePool('general', { startupTaints }));
    expect(lines(audit({ daemonSets, facts: { ...facts, nodePools } }))).toEqual(ofTemplates);
  });

  it('are not asked for more than is there when Cilium and Istio come with them', () => {
    const pool = nodePool('general', {
      startupTaints: [
        ...startupTaints,
        noExecute('node.cilium.io/agent-not-ready'),
        noSchedule('cni.istio.io/not-ready'),
      ],
    });
    const workloads = read(
      deployment('cilium-operator', {
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'cilium-operator', image: 'quay.io/cilium/operator-aws:v1.18.2' }],
      }),
      deployment('istiod', {
        metadata: { name: 'istiod', namespace: 'istio-system', uid: 'istiod' },
        tolerations: [{ key: 'cni.istio.io/not-ready', operator: 'Exists' }],
        containers: [
          {
            name: 'discovery',
            image: 'docker.io/istio/pilot:1.27.3',
            env: [{ name: 'PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS', value: 'true' }],
          },
        ],
      }),
    );
    const more = eksDaemonSets('cilium', 'istio-cni-node');
    const report = audit({
      daemonSets: [...daemonSets, ...more],
      facts: { ...facts, workloads, nodePools: read(pool) },
    });
    expect(
      lines(report).filter((line) => !/update-empties-nodes|no-readiness-probe/.test(line)),
    ).toEqual([]);
  });

  it('show what a log agent of a chart lacks', () => {
    const report = audit({
      daemonSets: eksDaemonSets('aws-for-fluent-bit'),
      facts: {
        ...facts,
        nodeGroups: read(nodeGroup('gpu', { taints: [noSchedule('nvidia.com/gpu')] })),
      },
      config: configOf('requiredDaemonSets:\n  - { name: aws-for-fluent-bit }\n'),
    });
    expect(lines(report)).toEqual([
      'warning gap-taint-not-tolerated DaemonSet/aws-for-fluent-bit',
      'warning image-not-pinned DaemonSet/aws-for-fluent-bit',
      'warning no-readiness-probe DaemonSet/aws-for-fluent-bit',
      'warning no-startup-taint NodePool/general',
      'warning priority-class-missing DaemonSet/aws-for-fluent-bit',
      'warning shut-out-by-taint DaemonSet/aws-for-fluent-bit',
      'warning update-empties-nodes DaemonSet/aws-for-fluent-bit',
    ]);
    expect(report.notChecked).toEqual([
      {
        check: 'limit-at-or-below-use',
        reason: 'limits of logging/aws-for-fluent-bit: not asked for',
      },
    ]);
  });

  it('give no error in a folder that holds nothing else', () => {
    const nothing = notChecked('a folder of manifests has none');
    const report = audit({
      daemonSets: eksDaemonSets(),
      facts: {
        source: 'manifests',
        cluster: '',
        nodes: nothing,
        nodeGroups: nothing,
        launchTemplates: nothing,
        usage: nothing,
        nodePools: read(nodePool('general', { startupTaints })),
        secrets: read<KeyedObject>(),
      },
    });
    expect(report.findings.filter(({ severity }) => severity === 'error')).toEqual([]);
    expect(report.notChecked.length).toBeGreaterThan(0);
  });
});

describe('the report', () => {
  it('names the required DaemonSets and puts errors first', () => {
    const report = audit({
      daemonSets: [
        agent({ name: 'b', container: { image: 'b' } }),
        agent({ name: 'a', spec: { minReadySeconds: 0 } }),
      ],
      facts: {
        nodePools: read(
          nodePool('general', { startupTaints: [noSchedule('nodegap.dev/startup-x')] }),
        ),
      },
    });
    expect(report.daemonSets).toEqual(['kube-system/a', 'kube-system/b']);
    const weights = report.findings.map(({ severity }) => auditSeverities.indexOf(severity));
    expect(weights).toEqual([...weights].sort());
    expect(new Set(weights)).toEqual(new Set([0, 1, 2]));
  });

  it('says each reason once for a check', () => {
    const taints = [noSchedule('nodegap.dev/startup-a'), noExecute('nodegap.dev/startup-a')];
    const { notChecked: all } = audit({
      daemonSets: [agent({ name: 'a' }), agent({ name: 'b' })],
      facts: {
        cluster: 'other',
        nodePools: read(nodePool('p', { startupTaints: taints })),
        workloads: notChecked(),
      },
    });
    const texts = all.map(({ check, reason }) => `${check} ${reason}`);
    expect(texts).toEqual([...new Set(texts)]);
  });

  it('looks at no DaemonSet that is being deleted', () => {
    const leaving = agent({ container: { image: 'agent' } });
    leaving.metadata.deletionTimestamp = '2026-11-30T00:00:00Z';
    expect(audit({ daemonSets: [leaving] })).toMatchObject({ daemonSets: [], findings: [] });
  });

  it('does not depend on the order in which objects were read, and knows every code', () => {
    const daemonSets = eksDaemonSets();
    const pools = [
      nodePool('a', { startupTaints: [noSchedule('nodegap.dev/startup-aws-node')] }),
      nodePool('b', { taints: [noSchedule('nodegap.dev/startup-kube-proxy')] }),
    ];
    const expected = new Set(lines(audit({ daemonSets, facts: { nodePools: read(...pools) } })));
    fc.assert(
      fc.property(
        fc.shuffledSubarray(daemonSets, { minLength: daemonSets.length }),
        fc.shuffledSubarray(pools, { minLength: pools.length }),
        (shuffled, shuffledPools) => {
          const facts = { nodePools: read(...shuffledPools) };
          expect(new Set(lines(audit({ daemonSets: shuffled, facts })))).toEqual(expected);
        },
      ),
      { numRuns: 30 },
    );
  });

  const readings = [
    'nodes',
    'nodePools',
    'nodeClasses',
    'nodeGroups',
    'launchTemplates',
    'priorityClasses',
    'workloads',
    'configMaps',
    'secrets',
    'serviceAccounts',
    'usage',
  ] as const;
  const asks: Record<(typeof readings)[number], AuditCheck> = {
    nodes: 'shut-out-by-taint',
    nodePools: 'no-startup-taint',
    nodeClasses: 'no-startup-taint',
    nodeGroups: 'no-startup-taint',
    launchTemplates: 'no-startup-taint',
    priorityClasses: 'priority-class-low',
    workloads: 'short-toleration',
    configMaps: 'missing-input',
    secrets: 'missing-pull-secret',
    serviceAccounts: 'missing-service-account',
    usage: 'limit-at-or-below-use',
  };
  it.each(readings)('says so when %s could not be read', (kind) => {
    const facts: Partial<PreventionFacts> = {
      secrets: read<KeyedObject>(),
      usage: read(),
      [kind]: notChecked('denied by the test'),
    };
    const report = audit({
      daemonSets: [
        agent({
          name: 'agent',
          template: { priorityClassName: 'infra', imagePullSecrets: [{ name: 'registry' }] },
          inputs: [{ kind: 'ConfigMap', name: 'x', optional: false, at: 'volumes[0]' }],
          container: { resources: { limits: { memory: '1Gi' } } },
        }),
      ],
      config: configOf('requiredDaemonSets:\n  - { name: agent }\n'),
      facts,
    });
    const reasons = report.notChecked.filter(({ check }) => check === asks[kind]);
    expect(reasons.map(({ reason }) => reason).join()).toContain('denied by the test');
  });
});
