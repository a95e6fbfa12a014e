import { describe, expect, it } from 'vitest';
import type { ClusterConfig } from '../../lib/config/model.ts';
import { KubernetesError, NodegapError } from '../../lib/errors.ts';
import type { ClusterFacts, Gap } from '../../lib/gap/model.ts';
import type { NodeClaim } from '../../lib/kubernetes/objects.ts';
import type { InstanceReading, LeaseReading } from '../../lib/observation-ports.ts';
import type { ClusterReader } from '../../lib/ports.ts';
import { leftTo } from '../../lib/remediation/other-repair.ts';
import {
  doubtAboutOthers,
  type OtherPorts,
  readOthers,
  remediationOf,
} from '../../lib/remediation/others.ts';
import { claim, type NodeParts, node } from './builders.ts';
import { gapOf, judgeFactsOf, minute, t0 } from './samples.ts';

const cluster: ClusterConfig = {
  ...(judgeFactsOf().cluster as ClusterConfig),
  karpenterNodeRepair: 'off',
};
const impaired: InstanceReading = { kind: 'impaired', checks: ['instance status'] };
const silent: LeaseReading = { kind: 'read', renewedAt: t0 - 10 * minute };

function down(parts: NodeParts = {}) {
  const made = node(parts);
  made.status.conditions = [{ type: 'Ready', status: 'Unknown' }];
  return made;
}

interface Case {
  ports?: OtherPorts;
  reader?: Partial<ClusterReader>;
  gaps?: Gap[];
  node?: NodeParts;
  claims?: NodeClaim[];
  cluster?: ClusterConfig | undefined;
  concerns?: (uid: string) => boolean;
}

const asked: string[] = [];
function read(given: Case = {}) {
  asked.length = 0;
  const reader = {
    getNodeLease: async (name: string) => {
      asked.push(`lease of ${name}`);
      return silent;
    },
    listRemediations: async () => {
      asked.push('remediations');
      return [];
    },
    ...given.reader,
  };
  const facts = {
    nodes: [down(given.node)],
    nodeClaims: { ok: true, items: given.claims ?? [claim()] },
  } as unknown as ClusterFacts;
  return readOthers(
    given.ports ?? {
      instances: {
        statusOf: async (ids) => {
          asked.push(...ids);
          return new Map(ids.map((id) => [id, impaired]));
        },
      },
    },
    reader as unknown as ClusterReader,
    {
      facts,
      cluster: 'cluster' in given ? given.cluster : cluster,
      gaps: given.gaps ?? [gapOf({ cause: 'node-not-ready' })],
      concerns: given.concerns ?? (() => true),
      now: t0,
    },
  );
}
const verdictOn = async (given: Case = {}) => {
  const { notReady } = await read(given);
  const verdict = notReady.get('uid-n1');
  return verdict === undefined || verdict.kind === 'agreed' ? verdict?.kind : verdict.code;
};
const inGroup = {
  labels: { 'eks.amazonaws.com/nodegroup': 'general' },
};
const repairs = (repairOf: () => Promise<'on' | 'off'>): OtherPorts => ({
  instances: { statusOf: async (ids) => new Map(ids.map((id) => [id, impaired])) },
  nodeGroupRepairs: { repairOf },
});

describe('readOthers', () => {
  it('asks EC2 and the lease of a node whose gap waits for it', async () => {
    expect(await verdictOn()).toBe('agreed');
    expect(asked.toSorted()).toEqual(['i-0123456789abcdef0', 'lease of n1', 'remediations']);
  });

  it.each<[string, Case, string | undefined]>([
    [
      'EC2 disagrees',
      {
        ports: {
          instances: { statusOf: async (ids) => new Map([[ids[0] ?? '', { kind: 'ok' }]]) },
        },
      },
      'observer-disagrees',
    ],
    ['nothing can ask EC2', { ports: {} }, 'observer-unknown'],
    [
      'the node is no EC2 instance',
      { node: { providerID: 'kind://x' }, claims: [] },
      'observer-unknown',
    ],
    [
      'the lease may not be read',
      {
        reader: {
          getNodeLease: async () => {
            throw new KubernetesError('forbidden', 'no', { status: 403 });
          },
        },
      },
      'observer-unknown',
    ],
    [
      'Karpenter repairs it',
      { cluster: { ...cluster, karpenterNodeRepair: 'on' } },
      'left-to-karpenter',
    ],
    [
      'EKS repairs its group',
      { node: inGroup, claims: [], ports: repairs(async () => 'on') },
      'left-to-eks',
    ],
    [
      'EKS does not repair its group',
      { node: inGroup, claims: [], ports: repairs(async () => 'off') },
      'agreed',
    ],
    [
      'EKS does not tell',
      {
        node: inGroup,
        claims: [],
        ports: repairs(async () => {
          throw new NodegapError('Eks.failed', 'throttled');
        }),
      },
      'eks-repair-unreadable',
    ],
    ['nothing can ask EKS', { node: inGroup, claims: [] }, 'eks-repair-unreadable'],
    [
      'Auto Mode repairs it',
      { node: { labels: { 'eks.amazonaws.com/compute-type': 'auto' } } },
      'left-to-auto-mode',
    ],
    ['the gap is another', { gaps: [gapOf()] }, undefined],
    ['it is another node', { concerns: (uid) => uid !== 'uid-n1' }, undefined],
    ['the cluster is not configured', { cluster: undefined }, undefined],
  ])('%s: %#', async (_title, given, expected) => {
    expect(await verdictOn(given)).toBe(expected);
  });

  it('asks nobody where no gap might be acted on', async () => {
    await read({ gaps: [gapOf({ ceiling: 'alert' }), gapOf({ required: false })] });
    expect(asked).toEqual([]);
  });

  it('does not ask EC2 about a node that others repair', async () => {
    await read({ cluster: { ...cluster, karpenterNodeRepair: 'on' } });
    expect(asked).toEqual(['remediations']);
  });

  it('lets an error of its own through', async () => {
    const broken = {
      getNodeLease: async () => {
        throw new TypeError('a mistake');
      },
    };
    await expect(read({ reader: broken })).rejects.toThrow('a mistake');
  });

  it('knows what medik8s works on', async () => {
    const others = await read({
      reader: { listRemediations: async () => [{ node: 'n1', by: 'NodeHealthCheck workers' }] },
    });
    expect(remediationOf(node(), others)).toBe('NodeHealthCheck workers');
    expect(remediationOf(node({ name: 'n2' }), others)).toBeUndefined();
    expect(doubtAboutOthers(others)).toBeUndefined();
  });

  it('doubts when medik8s could not be asked', async () => {
    const others = await read({
      reader: {
        listRemediations: async () => {
          throw new KubernetesError('forbidden', 'not allowed to list them', { status: 403 });
        },
      },
    });
    expect(doubtAboutOthers(others)).toEqual({
      code: 'remediations-unreadable',
      message:
        'NodeHealthChecks could not be read: not allowed to list them (apply what `nodegap rbac` prints)',
    });
  });
});

describe('leftTo', () => {
  it('says how to have a node of Karpenter acted on', () => {
    const on: ClusterConfig = { ...cluster, karpenterNodeRepair: 'on' };
    expect(leftTo(node(), claim(), on, undefined)?.message).toContain(
      'write karpenterNodeRepair: off for cluster prod',
    );
  });

  it('leaves a machine of nobody to nobody', () => {
    expect(leftTo(node(), undefined, cluster, undefined)).toBeUndefined();
  });
});
