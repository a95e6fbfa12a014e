/** New nodes with startup taints: pools that attach them, and what became of them. */

import type { Node, NodeClaim, Taint } from '../../../lib/kubernetes/objects.ts';
import { startupTaintKey } from '../../../lib/prevention/startup-taint.ts';
import { ApiError, type KubeClient, pathOf } from '../harness/client.ts';
import { nodes } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import type { Recorder } from './recorder.ts';
import type { Scene } from './scene.ts';

const patience = 180_000;

export const registeredLabel = 'karpenter.sh/registered';
export const initializedLabel = 'karpenter.sh/initialized';

/** The startup taint of a scene: each has its own, so that no other nodegap knows it. */
export function ownTaint(scene: string): Taint {
  return { key: startupTaintKey(scene), effect: 'NoSchedule' };
}

export function bears({ spec }: Node, { key }: Taint): boolean {
  return spec.taints?.some((taint) => taint.key === key) === true;
}

export function isLabelled({ metadata }: Node, label: string): boolean {
  return metadata.labels?.[label] === 'true';
}

/** So many replicas of the workload; each needs a node of its own. */
export async function scaleWorkload({ cluster, namespace }: Scene, to: number): Promise<void> {
  await cluster.kubectl(['-n', namespace, 'scale', 'deployment/web', `--replicas=${to}`]);
}

/** Waits for one more node of the scene's pool, of which `is` holds. */
export async function nodeOf(
  scene: Scene,
  what: string,
  is: (node: Node) => boolean = () => true,
): Promise<Node> {
  const labels = `karpenter.sh/nodepool=${scene.name}`;
  return waitFor(async () => (await nodes(scene.cluster.client(), labels)).find(is), {
    timeout: patience,
    what: `a node of ${scene.name} ${what}`,
    describe: () => scene.describe(),
  });
}

/** Somebody else takes a taint off, or puts one on. */
export async function untaint({ cluster }: Scene, node: Node, { key }: Taint): Promise<void> {
  await cluster.kubectl(['taint', 'node', node.metadata.name, `${key}-`]);
}

export async function taint({ cluster }: Scene, node: Node, added: Taint): Promise<void> {
  const { key, effect } = added;
  await cluster.kubectl(['taint', 'node', node.metadata.name, `${key}=:${effect}`]);
}

/** The recorded states of a node, oldest first. */
export function statesIn({ changes }: Pick<Recorder<Node>, 'changes'>, of: Node): Node[] {
  return changes
    .map(({ object }) => object)
    .filter(({ metadata }) => metadata.uid === of.metadata.uid);
}

/**
 * From now on Karpenter cannot write down that the machine's node is registered, as when the API
 * server fails in that moment. Returns what ends it.
 */
export async function loseRegistration(
  client: KubeClient,
  claim: NodeClaim,
): Promise<() => Promise<void>> {
  const metadata = { name: `lose-registration-${claim.metadata.name}` };
  const apiVersion = 'admissionregistration.k8s.io/v1';
  const isIt = `object.metadata.name == '${claim.metadata.name}'`;
  const registered =
    "object.?status.conditions.orValue([]).exists(c, c.type == 'Registered' && c.status == 'True')";
  const resourceRules = [
    {
      ...{ apiGroups: ['karpenter.sh'], apiVersions: ['*'] },
      ...{ operations: ['UPDATE'], resources: ['nodeclaims/status'] },
    },
  ];
  const policy = {
    ...{ apiVersion, kind: 'ValidatingAdmissionPolicy', metadata },
    spec: {
      matchConstraints: { resourceRules },
      validations: [{ expression: `!(${isIt} && ${registered})`, message: 'lost' }],
    },
  };
  const binding = {
    ...{ apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata },
    spec: { policyName: metadata.name, validationActions: ['Deny'] },
  };
  await client.apply(policy);
  await client.apply(binding);
  const path = `/apis/karpenter.sh/v1/nodeclaims/${claim.metadata.name}/status?dryRun=All`;
  const now = new Date().toISOString();
  const condition = { type: 'Registered', status: 'True', reason: 'A', lastTransitionTime: now };
  await waitFor(
    async () => {
      try {
        await client.patch(path, { status: { conditions: [condition] } });
        return false;
      } catch (error) {
        if (error instanceof ApiError && error.message.includes(metadata.name)) return true;
        throw error;
      }
    },
    { timeout: 60_000, what: 'the policy to be in force' },
  );
  return async () => {
    await client.delete(pathOf(binding));
  };
}
