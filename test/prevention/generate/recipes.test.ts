import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readUserData } from '../../../lib/prevention/checks/user-data.ts';
import type { LaunchTemplate } from '../../../lib/prevention/facts.ts';
import { planStartupTaints } from '../../../lib/prevention/generate/plan.ts';
import {
  kubeletFlag,
  type NodeSystem,
  systemOf,
  userDataFor,
} from '../../../lib/prevention/generate/recipes.ts';
import { read } from '../prevention-facts.ts';
import { clusterFacts, config, nodeGroup } from './facts.ts';

const { taints } = planStartupTaints(clusterFacts(), config());
const registered = taints.map(({ key, effect }) => [key, effect]);

describe('user data', () => {
  test.each<[NodeSystem]>([['al2023'], ['al2'], ['bottlerocket']])(
    'of %s registers each taint, as the audit reads it',
    (system) => {
      const found = readUserData(userDataFor(system, taints));
      expect(found.taints.map(({ key, effect }) => [key, effect])).toEqual(registered);
      expect(found.unread).toBe(false);
    },
  );

  test.each<[NodeSystem, string | undefined]>([
    ['al2023', undefined],
    ['al2023', 'apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\n'],
    ['al2', '#!/bin/bash\n/etc/eks/bootstrap.sh prod-a\n'],
    ['bottlerocket', '[settings.kubernetes]\ncluster-name = "prod-a"\n'],
  ])('is written for %s where that is used', (system, text) => {
    expect(systemOf(text)).toBe(system);
  });

  test('of nodes without bootstrap script is a flag of the kubelet', () => {
    expect(kubeletFlag(taints.slice(0, 1))).toBe(
      '--register-with-taints=ebs.csi.aws.com/agent-not-ready=:NoExecute',
    );
  });
});

const template: LaunchTemplate = {
  id: 'lt-1',
  name: 'system-nodes',
  version: '3',
  userData: '[settings.kubernetes]\n',
};

describe('a managed node group', () => {
  const plan = (facts = {}) =>
    planStartupTaints(
      clusterFacts({ nodePools: read(), nodeGroups: read(nodeGroup), ...facts }),
      config(),
    );

  test('that has a launch template gets user data in it', () => {
    const [recipe] = plan({ launchTemplates: read(template) }).recipes;
    expect(recipe).toMatchObject({ kind: 'NodeGroup', name: 'system' });
    expect(recipe?.advice[0]).toContain('new version of launch template system-nodes');
    expect(recipe?.steps[0]).toMatchObject({
      title: 'user data (Bottlerocket)',
      text: expect.stringContaining('"nodegap.dev/startup-fluent-bit" = "true:NoSchedule"'),
    });
  });

  test('whose launch template was not read is told its id', () => {
    expect(plan().recipes[0]?.advice[0]).toContain('new version of launch template lt-1');
  });

  test('that has none is told of a new group by the EKS API', () => {
    const group = { name: 'system', labels: {}, taints: [] };
    const [recipe] = plan({ nodeGroups: read(group) }).recipes;
    expect(recipe?.advice[0]).toContain('the node group has no launch template');
    expect(recipe?.steps[1]?.text).toContain('--cluster-name prod-a --nodegroup-name system-gated');
    expect(recipe?.steps[1]?.text).toContain(
      'key=nodegap.dev/startup-fluent-bit,effect=NO_SCHEDULE',
    );
    expect(parse(recipe?.steps[2]?.text ?? '').Properties.Taints).toHaveLength(3);
  });

  test('is warned of the EKS API for nodes that run', () => {
    expect(plan().recipes[0]?.advice[1]).toContain('put on its nodes at once');
  });

  test('that attaches all taints already needs nothing', () => {
    const group = { ...nodeGroup, taints: taints.map(({ key, effect }) => ({ key, effect })) };
    expect(plan({ nodeGroups: read(group) }).recipes).toEqual([]);
  });

  test('whose launch template registers all taints already needs nothing', () => {
    const done = { ...template, userData: userDataFor('al2023', taints) };
    expect(plan({ launchTemplates: read(done) }).recipes).toEqual([]);
  });
});

test('a launch template of no node group gets user data of its own', () => {
  const self = {
    id: 'lt-9',
    name: 'self-managed',
    version: '1',
    userData: '#!/bin/bash\n/etc/eks/bootstrap.sh prod-a\n',
  };
  const facts = clusterFacts({ nodePools: read(), launchTemplates: read(self) });
  expect(planStartupTaints(facts, config()).recipes).toMatchObject([
    {
      kind: 'LaunchTemplate',
      name: 'self-managed',
      steps: [{ title: 'user data (Amazon Linux 2: bootstrap.sh)' }],
    },
  ]);
});
