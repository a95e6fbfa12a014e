import { describe, expect, it } from 'vitest';
import { floatingTag } from '../../../lib/prevention/checks/image.ts';
import type { PreventionFacts } from '../../../lib/prevention/facts.ts';
import { type Audited, agent, configOf, findings, node, said, unmade } from '../audited.ts';
import { eksDaemonSets } from '../manifests.ts';
import { nodePool, notChecked, read } from '../prevention-facts.ts';

const byName = configOf('requiredDaemonSets:\n  - { name: agent }\n');
const priorityClass = (name: string, value: number) => ({ metadata: { name, uid: name }, value });

const priorityChecks = [
  'priority-class-missing',
  'priority-class-unknown',
  'priority-class-low',
] as const;
const selectorChecks = ['selector-never-matches', 'selector-matches-no-node'] as const;

describe('priority', () => {
  const withClass = (priorityClassName?: string) => [
    agent({ template: { priorityClassName: priorityClassName ?? '' } }),
  ];
  const classes = read(priorityClass('infra', 1_000_000), priorityClass('batch', 1000));
  it.each<[string, Audited, string[]]>([
    ['system-node-critical', {}, []],
    ['none', { daemonSets: withClass(), config: byName }, ['priority-class-missing warning']],
    [
      'one above all others',
      { daemonSets: withClass('infra'), config: byName, facts: { priorityClasses: classes } },
      [],
    ],
    [
      'one below another',
      { daemonSets: withClass('batch'), config: byName, facts: { priorityClasses: classes } },
      ['priority-class-low warning'],
    ],
    [
      'one of no value',
      {
        daemonSets: withClass('zero'),
        config: byName,
        facts: { priorityClasses: read(priorityClass('zero', 0)) },
      },
      ['priority-class-low warning'],
    ],
    [
      'one that does not exist',
      { daemonSets: withClass('nope'), config: byName, facts: { priorityClasses: classes } },
      ['priority-class-unknown error'],
    ],
  ])('%s', (_, audited, expected) => {
    const all = priorityChecks.flatMap((check) =>
      findings(check, audited).map(({ severity }) => `${check} ${severity}`),
    );
    expect(all).toEqual(expected);
  });

  it.each<[string, Partial<PreventionFacts>]>([
    ['were not read', { priorityClasses: notChecked('denied') }],
    ['may be in another folder', { source: 'manifests', priorityClasses: read() }],
  ])('is not checked when classes %s', (_, facts) => {
    const audited = { daemonSets: withClass('infra'), config: byName, facts };
    for (const check of priorityChecks.slice(1)) {
      expect(said(check, audited)).toEqual([]);
      expect(unmade(check, audited)).toHaveLength(1);
    }
  });
});

describe('image-not-pinned', () => {
  it.each<[string, string | undefined]>([
    ['agent', 'no tag'],
    ['agent:latest', 'tag latest'],
    ['agent:v1', undefined],
    ['registry.example.com:5000/team/agent', 'no tag'],
    ['registry.example.com:5000/team/agent:1.2', undefined],
    ['agent:latest@sha256:0123', undefined],
    ['agent@sha256:0123', undefined],
  ])('%s', (image, expected) => {
    expect(floatingTag(image)).toBe(expected);
  });

  it('names main and init containers, and pins what runs', () => {
    const [finding, ...more] = findings('image-not-pinned', {
      daemonSets: [
        agent({
          container: { image: 'agent' },
          template: {
            containers: [{ name: 'main', image: 'agent' }],
            initContainers: [{ name: 'setup', image: 'setup:latest' }],
          },
        }),
      ],
    });
    expect(more).toEqual([]);
    expect(finding?.severity).toBe('warning');
    expect(finding?.message).toContain('setup (setup:latest, tag latest) and main (agent, no tag)');
    expect(finding?.change.split('\n').slice(1)).toEqual([
      `kubectl -n kube-system set image daemonset/agent setup="$(kubectl -n kube-system get pods -l app=agent --field-selector status.phase=Running -o 'jsonpath={.items[0].status.initContainerStatuses[?(@.name=="setup")].imageID}')"`,
      `kubectl -n kube-system set image daemonset/agent main="$(kubectl -n kube-system get pods -l app=agent --field-selector status.phase=Running -o 'jsonpath={.items[0].status.containerStatuses[?(@.name=="main")].imageID}')"`,
    ]);
  });
});

describe('no-readiness-probe', () => {
  const check = 'no-readiness-probe';
  const unprobed = (more: Parameters<typeof agent>[0] = {}): Audited => {
    const [container = { name: 'main' }] = agent(more).spec.template.spec.containers ?? [];
    const { readinessProbe: _, ...rest } = container;
    return { daemonSets: [agent({ ...more, template: { ...more.template, containers: [rest] } })] };
  };
  it.each<[string, Audited, string[]]>([
    ['with one', {}, []],
    ['without', unprobed(), ['warning DaemonSet agent']],
    [
      'with a readiness gate',
      unprobed({ template: { readinessGates: [{ conditionType: 'example.com/ok' }] } }),
      [],
    ],
  ])('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  it.each<[string, Parameters<typeof agent>[0], string]>([
    [
      'its liveness probe',
      { container: { livenessProbe: { httpGet: { path: '/healthz', port: 'healthz' } } } },
      '"readinessProbe":{"httpGet":{"path":"/healthz","port":"healthz"}}',
    ],
    ['its port', { container: { ports: [{ containerPort: 9000 }] } }, '"tcpSocket":{"port":9000}'],
    ['nothing', {}, 'kubectl -n kube-system edit daemonset agent'],
  ])('proposes what the template tells: %s', (_, more, expected) => {
    expect(findings(check, unprobed(more))[0]?.change).toContain(expected);
  });

  it('knows where kube-proxy tells its health', () => {
    const [finding] = findings(check, { daemonSets: eksDaemonSets('kube-proxy') });
    expect(finding?.change).toContain('"httpGet":{"path":"/livez","port":10256}');
  });
});

describe('selectors', () => {
  const affine = (...nodeSelectorTerms: object[]) =>
    agent({
      template: {
        affinity: {
          nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
        },
      },
    });
  const selecting = (nodeSelector: Record<string, string>) => agent({ template: { nodeSelector } });
  const nodes = read(node('a', { disk: 'ssd' }), node('b', { disk: 'ssd' }));
  it.each<[string, Audited, string[]]>([
    ['one that matches', { daemonSets: [selecting({ disk: 'ssd' })], facts: { nodes } }, []],
    [
      'one that matches nothing',
      { daemonSets: [selecting({ disc: 'ssd' })], facts: { nodes } },
      ['selector-matches-no-node note'],
    ],
    [
      'one that matches nothing, of a DaemonSet that is named',
      { daemonSets: [selecting({ disc: 'ssd' })], facts: { nodes }, config: byName },
      ['selector-matches-no-node warning'],
    ],
    [
      'one for Windows',
      { daemonSets: [selecting({ 'kubernetes.io/os': 'windows' })], facts: { nodes } },
      [],
    ],
    [
      'one that a pool may match later',
      {
        daemonSets: [selecting({ disc: 'ssd' })],
        facts: { nodes, nodePools: read(nodePool('general')) },
      },
      [],
    ],
    ['no nodes', { daemonSets: [selecting({ disc: 'ssd' })] }, []],
    ['an empty term', { daemonSets: [affine({})] }, ['selector-never-matches error']],
    ['no terms', { daemonSets: [affine()] }, ['selector-never-matches error']],
    [
      'NotIn without values',
      { daemonSets: [affine({ matchExpressions: [{ key: 'disk', operator: 'NotIn' }] })] },
      ['selector-never-matches error'],
    ],
    [
      'a broken term beside a good one',
      {
        daemonSets: [affine({}, { matchExpressions: [{ key: 'disk', operator: 'Exists' }] })],
        facts: { nodes },
      },
      [],
    ],
  ])('%s', (_, audited, expected) => {
    const all = selectorChecks.flatMap((check) =>
      findings(check, audited).map(({ severity }) => `${check} ${severity}`),
    );
    expect(all).toEqual(expected);
  });

  it('are not checked without nodes', () => {
    const audited = {
      daemonSets: [selecting({ disk: 'ssd' })],
      facts: { nodes: notChecked('no cluster') },
    };
    expect(unmade('selector-matches-no-node', audited).join()).toContain('no cluster');
  });

  it('is not told where a pool could perhaps make a node that it selects', () => {
    const audited: Audited = {
      daemonSets: [selecting({ disc: 'ssd' })],
      facts: { nodes, nodePools: read(nodePool('general')) },
    };
    expect(unmade('selector-matches-no-node', audited).join()).toContain('NodePool general');
  });

  it('leave out what a DaemonSet that runs nowhere says otherwise', () => {
    const facts = { nodes, nodePools: read(nodePool('general')) };
    const daemonSets = eksDaemonSets('ebs-csi-node-windows');
    expect(said('no-readiness-probe', { daemonSets, facts })).toEqual([]);
    expect(said('no-readiness-probe', { daemonSets })).toHaveLength(1);
  });
});
