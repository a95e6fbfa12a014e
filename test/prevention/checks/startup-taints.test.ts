import { describe, expect, it } from 'vitest';
import {
  type Audited,
  agent,
  configOf,
  findings,
  node,
  nodeGroup,
  noExecute,
  noSchedule,
  said,
  tolerateAll,
  unmade,
} from '../audited.ts';
import { eksDaemonSets } from '../manifests.ts';
import { deployment, nodePool, notChecked, read } from '../prevention-facts.ts';

const own = 'nodegap.dev/startup-agent';
const ebs = 'ebs.csi.aws.com/agent-not-ready';
const cilium = 'node.cilium.io/agent-not-ready';
const istio = 'cni.istio.io/not-ready';

const pool = (startupTaints = [noSchedule(own)], taints = [] as ReturnType<typeof noSchedule>[]) =>
  read(nodePool('general', { startupTaints, taints }));

/** The EBS CSI driver as a chart installs it that is told not to tolerate everything. */
function ebsTolerating(...keys: string[]) {
  const [driver] = eksDaemonSets('ebs-csi-node');
  if (driver === undefined) throw new TypeError('no ebs-csi-node');
  const spec = {
    ...driver.spec.template.spec,
    tolerations: keys.map((key) => ({ key, operator: 'Exists' })),
  };
  return { ...driver, spec: { ...driver.spec, template: { ...driver.spec.template, spec } } };
}

const ciliumOperator = (tolerations = tolerateAll, args: string[] = []) =>
  deployment('cilium-operator', {
    tolerations,
    containers: [{ name: 'cilium-operator', image: 'quay.io/cilium/operator-aws:v1.18.2', args }],
  });
const istiod = (on: boolean) =>
  deployment('istiod', {
    containers: [
      {
        name: 'discovery',
        image: 'docker.io/istio/pilot:1.27.3',
        env: on ? [{ name: 'PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS', value: 'true' }] : [],
      },
    ],
  });

describe('attacher-without-remover', () => {
  const check = 'attacher-without-remover';
  const cases: [string, Audited, string[]][] = [
    ['a taint of a required DaemonSet is fine in mode act', { facts: { nodePools: pool() } }, []],
    [
      'in mode observe nodegap takes none off',
      { facts: { nodePools: pool() }, config: configOf('', 'observe') },
      ['error NodePool general'],
    ],
    [
      'no required DaemonSet owns the taint',
      { facts: { nodePools: pool([noSchedule('nodegap.dev/startup-other')]) } },
      ['error NodePool general'],
    ],
    [
      'a node group with a taint of nodegap that nobody owns',
      {
        facts: {
          nodeGroups: read(nodeGroup('ng', { taints: [noSchedule('nodegap.dev/startup-other')] })),
        },
      },
      ['error NodeGroup ng'],
    ],
    [
      'a launch template with a taint of nodegap that nobody owns',
      {
        facts: {
          launchTemplates: read({
            id: 'lt-1',
            name: 'workers',
            version: '3',
            userData:
              '#!/bin/bash\n/etc/eks/bootstrap.sh prod-a --kubelet-extra-args "--register-with-taints=nodegap.dev/startup-other=true:NoSchedule"',
          }),
        },
      },
      ['error LaunchTemplate workers'],
    ],
    [
      'an ordinary taint of a node group is no startup taint',
      { facts: { nodeGroups: read(nodeGroup('ng', { taints: [noSchedule('dedicated')] })) } },
      [],
    ],
    [
      'the agent is not installed',
      { facts: { nodePools: pool([noExecute(cilium)]) } },
      ['error NodePool general'],
    ],
    [
      'the agent takes its own off',
      {
        daemonSets: eksDaemonSets('ebs-csi-node'),
        facts: { nodePools: pool([noExecute(ebs)]) },
      },
      [],
    ],
    [
      'the remover of the agent is off',
      {
        daemonSets: eksDaemonSets('cilium'),
        facts: {
          nodePools: pool([noExecute(cilium)]),
          workloads: read(ciliumOperator(tolerateAll, ['--remove-cilium-node-taints=false'])),
        },
      },
      ['error NodePool general'],
    ],
    [
      'the remover of the agent is on',
      {
        daemonSets: eksDaemonSets('cilium'),
        facts: { nodePools: pool([noExecute(cilium)]), workloads: read(ciliumOperator()) },
      },
      [],
    ],
    [
      'istiod is not told to',
      {
        daemonSets: eksDaemonSets('istio-cni-node'),
        facts: { nodePools: pool([noSchedule(istio)]), workloads: read(istiod(false)) },
      },
      ['error NodePool general'],
    ],
    [
      'istiod is told to',
      {
        daemonSets: eksDaemonSets('istio-cni-node'),
        facts: { nodePools: pool([noSchedule(istio)]), workloads: read(istiod(true)) },
      },
      [],
    ],
    [
      'a key that nobody knows',
      { facts: { nodePools: pool([noSchedule('example.com/not-ready')]) } },
      ['warning NodePool general'],
    ],
    [
      'a key that the configuration knows',
      {
        facts: { nodePools: pool([noSchedule('example.com/not-ready')]) },
        config: configOf('startupTaints: [example.com/not-ready]\n'),
      },
      [],
    ],
    [
      'a key that Kubernetes takes off',
      {
        facts: { nodePools: pool([noSchedule('node.cloudprovider.kubernetes.io/uninitialized')]) },
      },
      [],
    ],
    [
      'the agent does not select nodes of the pool',
      {
        daemonSets: eksDaemonSets('ebs-csi-node-windows'),
        facts: { nodePools: pool([noExecute(ebs)]) },
      },
      ['error NodePool general'],
    ],
    [
      'the agent does not tolerate another taint of the pool',
      {
        daemonSets: [ebsTolerating(ebs)],
        facts: { nodePools: pool([noExecute(ebs)], [noSchedule('dedicated')]) },
      },
      ['error NodePool general'],
    ],
    [
      'the agent tolerates it',
      {
        daemonSets: [ebsTolerating(ebs, 'dedicated')],
        facts: { nodePools: pool([noExecute(ebs)], [noSchedule('dedicated')]) },
      },
      [],
    ],
    [
      'nodegap takes its own off where nothing waits',
      {
        daemonSets: [agent({ template: { nodeSelector: { 'kubernetes.io/os': 'windows' } } })],
        facts: { nodePools: pool() },
      },
      [],
    ],
  ];
  it.each(cases)('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  it.each<[string, Audited, RegExp]>([
    [
      'the mode of an unknown cluster',
      { facts: { nodePools: pool(), cluster: 'elsewhere' } },
      /names cluster elsewhere/,
    ],
    [
      'an owner that may be in another folder',
      {
        facts: { source: 'manifests', nodePools: pool([noSchedule('nodegap.dev/startup-other')]) },
      },
      /may come from elsewhere/,
    ],
    [
      'an agent that may be in another folder',
      { facts: { source: 'manifests', nodePools: pool([noExecute(cilium)]) } },
      /is not among the manifests/,
    ],
    [
      'the operator when Deployments were not read',
      {
        daemonSets: eksDaemonSets('cilium'),
        facts: { nodePools: pool([noExecute(cilium)]), workloads: notChecked('no right to list') },
      },
      /no right to list/,
    ],
  ])('is not checked: %s', (_, audited, reason) => {
    expect(said(check, audited)).toEqual([]);
    expect(unmade(check, audited)).toEqual([expect.stringMatching(reason)]);
  });

  it('offers to configure the key, or to take the taint off', () => {
    const [finding] = findings(check, {
      facts: { nodePools: pool([noSchedule(own), noSchedule('example.com/x')]) },
    });
    expect(finding?.change).toContain('  - example.com/x\n');
    expect(finding?.change).toContain(
      `kubectl patch nodepool.karpenter.sh general --type merge -p '{"spec":{"template":{"spec":{"startupTaints":[{"key":"${own}","effect":"NoSchedule"}]}}}}'`,
    );
  });
});

describe('remover-without-attacher', () => {
  const check = 'remover-without-attacher';
  const named = configOf('requiredDaemonSets:\n  - { name: agent, startupTaint: cni }\n');
  const cases: [string, Audited, string[]][] = [
    [
      'a configured key that no pool attaches',
      { facts: { nodePools: pool() }, config: configOf('startupTaints: [example.com/x]\n') },
      ['error Configuration startupTaints'],
    ],
    [
      'a configured key that a pool attaches',
      {
        facts: { nodePools: pool([noSchedule('example.com/x')]) },
        config: configOf('startupTaints: [example.com/x]\n'),
      },
      [],
    ],
    [
      'a configured key that a node bears',
      {
        facts: {
          nodePools: pool(),
          nodes: read(
            node('a', { 'karpenter.sh/nodepool': 'general' }, [noSchedule('example.com/x')]),
          ),
        },
        config: configOf('startupTaints: [example.com/x]\n'),
      },
      [],
    ],
    ['the keys of agents, which stand there by default', { facts: { nodePools: pool() } }, []],
    [
      'a DaemonSet that is given a startup taint',
      { facts: { nodePools: pool([]) }, config: named },
      ['error DaemonSet agent'],
    ],
    [
      'a DaemonSet whose startup taint is attached',
      { facts: { nodePools: pool([noSchedule('nodegap.dev/startup-cni')]) }, config: named },
      [],
    ],
    [
      'an agent that is told to take its taint off',
      {
        daemonSets: eksDaemonSets('istio-cni-node'),
        facts: { nodePools: pool([]), workloads: read(istiod(true)) },
      },
      ['error DaemonSet istio-cni-node'],
    ],
    [
      'an agent that takes its taint off by default',
      { daemonSets: eksDaemonSets('ebs-csi-node'), facts: { nodePools: pool([]) } },
      [],
    ],
  ];
  it.each(cases)('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  it.each<[string, Audited['facts'], RegExp]>([
    ['node groups were not read', { nodeGroups: notChecked('no right to eks') }, /no right to eks/],
    ['a node belongs to no pool', { nodes: read(node('lone')) }, /node lone belongs to no pool/],
    ['there is no pool', { nodePools: read() }, /no NodePool/],
  ])('is not checked when %s', (_, facts, reason) => {
    const audited = { facts: { nodePools: pool([]), ...facts }, config: named };
    expect(said(check, audited)).toEqual([]);
    expect(unmade(check, audited)).toEqual([expect.stringMatching(reason)]);
  });
});

describe('no-startup-taint', () => {
  const check = 'no-startup-taint';
  const cases: [string, Audited, string[]][] = [
    ['nothing waits for it', { facts: { nodePools: pool([]) } }, ['warning NodePool general']],
    ['its taint is attached', { facts: { nodePools: pool() } }, []],
    [
      'its taint is registered by a node group',
      { facts: { nodeGroups: read(nodeGroup('ng', { taints: [noSchedule(own)] })) } },
      [],
    ],
    [
      'a node group attaches nothing',
      { facts: { nodeGroups: read(nodeGroup('ng')) } },
      ['warning NodeGroup ng'],
    ],
    [
      'its taint keeps nothing away',
      { facts: { nodePools: pool([{ key: own, effect: 'PreferNoSchedule' }]) } },
      ['warning NodePool general'],
    ],
    [
      'the taint of the agent is attached',
      { daemonSets: eksDaemonSets('ebs-csi-node'), facts: { nodePools: pool([noExecute(ebs)]) } },
      [],
    ],
    [
      'it surely does not run there',
      {
        daemonSets: [agent({ template: { nodeSelector: { 'karpenter.sh/nodepool': 'gpu' } } })],
        facts: { nodePools: pool([]) },
      },
      [],
    ],
    [
      'nobody can tell whether it runs there',
      {
        daemonSets: [agent({ template: { nodeSelector: { rack: 'a' } } })],
        facts: { nodePools: pool([]) },
      },
      [],
    ],
    [
      'a lasting taint keeps it out',
      {
        daemonSets: [agent({ template: { tolerations: [] } })],
        facts: { nodePools: pool([], [noSchedule('dedicated')]) },
      },
      [],
    ],
    [
      'its action is alert',
      {
        facts: { nodePools: pool([]) },
        config: configOf('requiredDaemonSets:\n  - { name: agent, action: alert }\n'),
      },
      [],
    ],
    [
      'a taint of somebody else may wait for it',
      {
        facts: { nodePools: pool([noSchedule('example.com/x')]) },
        config: configOf('startupTaints: [example.com/x]\n'),
      },
      ['note NodePool general'],
    ],
  ];
  it.each(cases)('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  const template = (name: string, version = '1', cluster = 'prod-a') => ({
    id: `lt-${name}`,
    name,
    version,
    userData: `#!/bin/bash\n/etc/eks/bootstrap.sh ${cluster} --b64-cluster-ca x\n`,
  });
  it.each<[string, Audited['facts'], string[]]>([
    ['of self-managed nodes', {}, ['warning LaunchTemplate workers']],
    [
      'in its newest version alone',
      { launchTemplates: read(template('workers', '9'), template('workers', '10')) },
      ['warning LaunchTemplate workers'],
    ],
    ['of another cluster', { launchTemplates: read(template('workers', '1', 'prod-b')) }, []],
    [
      'that EKS makes for a node group',
      { launchTemplates: read(template('eks-0ac12345-9b1c-77aa-0d5e-6a2a1f3b5c7d')) },
      [],
    ],
    [
      'of a node group, which is told of itself',
      {
        nodeGroups: read(nodeGroup('ng', { launchTemplate: { id: 'lt-workers', version: '1' } })),
      },
      ['warning NodeGroup ng'],
    ],
    ['that may belong to a group', { nodeGroups: notChecked() }, []],
  ])('looks at a launch template %s', (_, facts, expected) => {
    const launchTemplates = read(template('workers'));
    expect(said(check, { facts: { launchTemplates, ...facts } })).toEqual(expected);
  });

  it('is not checked where user data was not read', () => {
    const audited = {
      facts: {
        nodePools: read(nodePool('general', { nodeClassRef: { kind: 'EC2NodeClass', name: 'x' } })),
        nodeClasses: notChecked('no right to ec2nodeclasses'),
      },
    };
    expect(said(check, audited)).toEqual([]);
    expect(unmade(check, audited).join()).toContain('no right to ec2nodeclasses');
  });

  it('asks no user data of a node class of Auto Mode', () => {
    const nodeClassRef = { group: 'eks.amazonaws.com', kind: 'NodeClass', name: 'default' };
    const nodePools = read(nodePool('general', { nodeClassRef }));
    const audited = { facts: { nodePools, nodeClasses: notChecked() } };
    expect(said(check, audited)).toEqual(['warning NodePool general']);
  });

  it('attaches behind what is there, and lets the DaemonSet tolerate it first', () => {
    const [finding] = findings(check, {
      daemonSets: [agent({ template: { tolerations: [] } })],
      facts: { nodePools: pool([noSchedule('example.com/x')]) },
    });
    expect(finding?.change.split('\n')).toEqual([
      `kubectl -n kube-system get daemonset agent -o json | jq '.spec.template.spec.tolerations += [{"key":"${own}","operator":"Exists"}]' | kubectl replace -f -`,
      `kubectl patch nodepool.karpenter.sh general --type merge -p '{"spec":{"template":{"spec":{"startupTaints":[{"key":"example.com/x","effect":"NoSchedule"},{"key":"${own}","effect":"NoSchedule"}]}}}}'`,
    ]);
  });

  it('attaches nothing that nobody would take off yet', () => {
    const facts = { nodePools: pool([]), workloads: read(istiod(false)) };
    const daemonSets = [agent(), ...eksDaemonSets('istio-cni-node')];
    const [finding] = findings(check, { daemonSets, facts, config: configOf('', 'observe') });
    expect(finding?.change).not.toContain('kubectl');
    expect(finding?.change).toMatch(/^# Not cni\.istio\.io\/not-ready yet/m);
    expect(finding?.change).toMatch(/^# Not nodegap\.dev\/startup-agent yet/m);
  });

  it('gives a patch for the file when the pool is a manifest', () => {
    const origin = { kind: 'file' as const, file: 'pools/general.yaml', line: 3 };
    const [finding] = findings(check, {
      facts: {
        source: 'manifests',
        nodePools: { kind: 'read', items: [{ object: nodePool('general'), origin }] },
      },
    });
    expect(finding?.change).toBe(
      [
        '# Kustomize patch for pools/general.yaml:3',
        'apiVersion: karpenter.sh/v1',
        'kind: NodePool',
        'metadata:',
        '  name: general',
        'spec:',
        '  template:',
        '    spec:',
        '      startupTaints:',
        `        - key: ${own}`,
        '          effect: NoSchedule',
      ].join('\n'),
    );
  });
});

describe('startup-taint-permanent', () => {
  const check = 'startup-taint-permanent';
  const withUserData = (key: string, startupTaints = [] as ReturnType<typeof noSchedule>[]) => ({
    facts: {
      nodePools: read(
        nodePool('general', { nodeClassRef: { kind: 'EC2NodeClass', name: 'x' }, startupTaints }),
      ),
      nodeClasses: read({
        kind: 'EC2NodeClass',
        metadata: { name: 'x', uid: 'x' },
        spec: { userData: `[settings.kubernetes.node-taints]\n"${key}" = ["true:NoSchedule"]\n` },
      }),
    },
  });
  it.each<[string, Audited, string[]]>([
    [
      'in taints',
      { facts: { nodePools: pool([], [noSchedule(own)]) } },
      ['error NodePool general'],
    ],
    ['in startupTaints', { facts: { nodePools: pool() } }, []],
    ['an ordinary one in taints', { facts: { nodePools: pool([], [noSchedule('gpu')]) } }, []],
    ['in user data alone', withUserData(own), ['warning NodePool general']],
    ['in user data and startupTaints', withUserData(own, [noSchedule(own)]), []],
    ['in user data, for Karpenter itself', withUserData('karpenter.sh/unregistered'), []],
  ])('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  it('moves it and leaves the others', () => {
    const [finding] = findings(check, {
      facts: { nodePools: pool([], [noSchedule('gpu'), noSchedule(own)]) },
    });
    expect(finding?.change).toContain(
      `"taints":[{"key":"gpu","effect":"NoSchedule"}],"startupTaints":[{"key":"${own}","effect":"NoSchedule"}]`,
    );
  });
});

describe('effects of startup taints', () => {
  it.each<[string, Audited, string[]]>([
    ['NoSchedule for nodegap', { facts: { nodePools: pool() } }, []],
    [
      'NoExecute for nodegap',
      { facts: { nodePools: pool([noExecute(own)]) } },
      ['warning NodePool general'],
    ],
    [
      'PreferNoSchedule for anybody',
      { facts: { nodePools: pool([{ key: own, effect: 'PreferNoSchedule' }]) } },
      ['warning NodePool general'],
    ],
    [
      'NoSchedule for an agent that asks for NoExecute',
      { daemonSets: eksDaemonSets('cilium'), facts: { nodePools: pool([noSchedule(cilium)]) } },
      ['note NodePool general'],
    ],
    [
      'NoExecute for it',
      { daemonSets: eksDaemonSets('cilium'), facts: { nodePools: pool([noExecute(cilium)]) } },
      [],
    ],
  ])('startup-taint-effect: %s', (_, audited, expected) => {
    expect(said('startup-taint-effect', audited)).toEqual(expected);
  });

  const two = (...taints: ReturnType<typeof noSchedule>[][]) => ({
    facts: {
      nodePools: read(
        ...taints.map((startupTaints, index) => nodePool(`p${index}`, { startupTaints })),
      ),
    },
  });
  it.each<[string, Audited, string[]]>([
    ['once', two([noSchedule(own)]), []],
    ['twice in one pool', two([noSchedule(own), noExecute(own)]), ['warning NodePool p0']],
    ['in two pools alike', two([noSchedule(own)], [noSchedule(own)]), []],
    ['in two pools otherwise', two([noSchedule(own)], [noExecute(own)]), ['note NodePool p1']],
  ])('startup-taint-two-effects: %s', (_, audited, expected) => {
    expect(said('startup-taint-two-effects', audited)).toEqual(expected);
  });
});

describe('remover-shut-out', () => {
  const check = 'remover-shut-out';
  const audited = (tolerations: typeof tolerateAll, more: Audited['facts'] = {}): Audited => ({
    daemonSets: eksDaemonSets('cilium'),
    facts: {
      nodePools: pool([noExecute(cilium)]),
      workloads: read(ciliumOperator(tolerations)),
      ...more,
    },
  });
  it.each<[string, Audited, string[]]>([
    ['it does not tolerate the taint', audited([]), ['error Deployment cilium-operator']],
    ['it tolerates everything', audited(tolerateAll), []],
    ['another pool is free', audited([], { nodeGroups: read(nodeGroup('system')) }), []],
    ['a node of no pool is free', audited([], { nodes: read(node('lone')) }), []],
    [
      'other pools could not be read',
      audited([], { nodeGroups: notChecked() }),
      ['warning Deployment cilium-operator'],
    ],
  ])('%s', (_, facts, expected) => {
    expect(said(check, facts)).toEqual(expected);
  });

  it('is not checked when Deployments were not read', () => {
    expect(unmade(check, audited([], { workloads: notChecked('denied') })).join()).toContain(
      'denied',
    );
  });
});
