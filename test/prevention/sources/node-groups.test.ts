import { describe, expect, it } from 'vitest';
import { NodegapError } from '../../../lib/errors.ts';
import type { LaunchTemplate } from '../../../lib/prevention/facts.ts';
import {
  type NodeGroupReads,
  withNodeGroups,
} from '../../../lib/prevention/sources/node-groups.ts';
import { nodeGroup } from '../audited.ts';
import { preventionFacts } from '../prevention-facts.ts';

const facts = preventionFacts({ cluster: 'prod-a' });
const template = (id: string, userData?: string): LaunchTemplate => ({
  id,
  name: id,
  version: '1',
  ...(userData === undefined ? {} : { userData }),
});

function readsOf(parts: Partial<NodeGroupReads>): NodeGroupReads {
  return {
    nodeGroups: async () => [],
    launchTemplate: async (id) => template(id),
    newestLaunchTemplates: async () => [],
    ...parts,
  };
}

describe('withNodeGroups', () => {
  it('adds groups and the template of each once, with where they were read', async () => {
    const asked: string[] = [];
    const launchTemplate = { id: 'lt-1', version: '1' };
    const { nodeGroups, launchTemplates } = await withNodeGroups(
      facts,
      readsOf({
        nodeGroups: async () => [
          nodeGroup('a', { launchTemplate }),
          nodeGroup('b', { launchTemplate }),
        ],
        launchTemplate: async (id, version) => {
          asked.push(`${id}:${version}`);
          return template(id);
        },
      }),
    );
    expect(asked).toEqual(['lt-1:1']);
    expect(nodeGroups).toMatchObject({
      kind: 'read',
      items: [
        { object: { name: 'a' }, origin: { kind: 'aws', service: 'eks' } },
        { object: { name: 'b' }, origin: { kind: 'aws', service: 'eks' } },
      ],
    });
    expect(launchTemplates).toEqual({
      kind: 'read',
      items: [{ object: template('lt-1'), origin: { kind: 'aws', service: 'ec2' } }],
    });
  });

  it('adds those templates of no group whose user data names the cluster', async () => {
    const own = template('lt-own', '#!/bin/bash\n/etc/eks/bootstrap.sh prod-a --x\n');
    const { launchTemplates } = await withNodeGroups(
      facts,
      readsOf({
        newestLaunchTemplates: async () => [
          own,
          template('lt-other', '#!/bin/bash\n/etc/eks/bootstrap.sh prod-b --x\n'),
          template('lt-no-cluster', '#!/bin/bash\necho --register-with-taints=a:NoSchedule\n'),
          template('lt-bare'),
        ],
      }),
    );
    expect(launchTemplates).toMatchObject({ kind: 'read', items: [{ object: own }] });
  });

  it('says why neither was checked where EKS does not answer', async () => {
    const answer = await withNodeGroups(
      facts,
      readsOf({
        nodeGroups: async () => {
          throw new NodegapError('Eks.denied', 'may not list');
        },
      }),
    );
    const unchecked = { kind: 'not-checked', reason: 'may not list' };
    expect([answer.nodeGroups, answer.launchTemplates]).toEqual([unchecked, unchecked]);
  });

  it('keeps the groups where EC2 alone does not answer', async () => {
    const answer = await withNodeGroups(
      facts,
      readsOf({
        nodeGroups: async () => [nodeGroup('a')],
        newestLaunchTemplates: async () => {
          throw new NodegapError('Ec2.denied', 'may not describe');
        },
      }),
    );
    expect(answer.nodeGroups.kind).toBe('read');
    expect(answer.launchTemplates).toEqual({ kind: 'not-checked', reason: 'may not describe' });
  });

  it('hides no mistake of its own', async () => {
    const reads = readsOf({
      nodeGroups: async () => {
        throw new TypeError('a mistake');
      },
    });
    await expect(withNodeGroups(facts, reads)).rejects.toThrow('a mistake');
  });
});
