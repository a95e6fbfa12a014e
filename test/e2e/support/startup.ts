/** New nodes with startup taints: who attaches them, and what became of them. */
import { expect } from 'vitest';
import type { Node, NodeClaim, Taint } from '../../../lib/kubernetes/objects.ts';
import type { JsonPatchOperation } from '../../../lib/ports.ts';
import { startupTaintKey } from '../../../lib/prevention/startup-taint.ts';
import { ApiError, type KubeClient, pathOf } from '../harness/client.ts';
import { isReady, nodes } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import type { ObservedRun } from './observed-run.ts';
import type { ConfigChanges } from './operator.ts';
import type { Recorder } from './recorder.ts';
import type { Scene } from './scene.ts';
import { wideBreaker } from './several.ts';

const patience = 180_000;

export const registeredLabel = 'karpenter.sh/registered';
export const initializedLabel = 'karpenter.sh/initialized';

/** The startup taint of a scene: each has its own, so that no other nodegap knows it. */
export function ownTaint(scene: string): Taint {
  return { key: startupTaintKey(scene), effect: 'NoSchedule' };
}

/** The startup taint of an agent that takes it off itself. */
export const ofAgent: Taint = { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' };

/** Seconds for which the DaemonSet must have been Ready. */
export const soak = 3;

/** Requires the DaemonSet of the scene; a node that has not proved itself is nothing else's matter. */
export function admitting(scene: Scene, changes: ConfigChanges = {}): ConfigChanges {
  const entry = { by: 'namespaced-name' as const, namespace: scene.namespace, name: 'agent' };
  return {
    requiredDaemonSets: [{ ...entry, action: 'replace', startupTaint: scene.name }],
    breaker: wideBreaker,
    ...changes,
    timings: { nodeGrace: 1200, startupSoak: soak, startupDeadline: 1200, ...changes.timings },
  };
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

/** Like `taint`, and demands that nobody else writes to the node meanwhile, until nobody does. */
export async function putBack(client: KubeClient, name: string, added: Taint): Promise<void> {
  const path = `/api/v1/nodes/${name}`;
  await waitFor(
    async () => {
      const { metadata, spec } = await client.get<Node>(path);
      const { resourceVersion } = metadata;
      const taints = [...(spec.taints ?? []), added];
      await client.patch(path, { metadata: { resourceVersion }, spec: { taints } });
      return true;
    },
    { timeout: patience, interval: 10, what: `${added.key} to be put on ${name}` },
  );
}

/** The recorded states of a node, oldest first. */
export function statesIn({ changes }: Pick<Recorder<Node>, 'changes'>, of: Node): Node[] {
  return changes
    .map(({ object }) => object)
    .filter(({ metadata }) => metadata.uid === of.metadata.uid);
}

/**
 * That each change of nodegap to the node took the startup taint off the very state that it had read
 * and noted so in its own annotation, and did nothing else. Returns how many there were.
 */
export function expectOnlyTakenOff(run: ObservedRun, of: Node, own: Taint): number {
  const states = statesIn({ changes: run.nodeChanges }, of);
  const writes = run.writes.filter(
    ({ resource, name, code }) =>
      resource === 'nodes' && name === of.metadata.name && ![409, 422].includes(code),
  );
  for (const { verb, code, body } of writes) {
    expect([verb, code]).toEqual(['patch', 200]);
    const operations = body as JsonPatchOperation[];
    const valueAt = (path: string) =>
      operations.find((operation) => operation.path.startsWith(path) && 'value' in operation);
    const version = valueAt('/metadata/resourceVersion') as { value?: unknown } | undefined;
    const read = states.find(({ metadata }) => metadata.resourceVersion === version?.value);
    const sent = valueAt('/spec/taints') as { value?: unknown } | undefined;
    const before = read?.spec.taints ?? [];
    expect(before.some(({ key }) => key === own.key)).toBe(true);
    expect(sent?.value ?? []).toEqual(before.filter(({ key }) => key !== own.key));
    const changed = operations
      .filter(({ op, path }) => op !== 'test' && path !== '/metadata/resourceVersion')
      .map(({ path }) => path);
    expect(changed).toEqual(['/spec/taints', '/metadata/annotations/nodegap.dev~1admitted']);
  }
  return writes.length;
}

/** Waits until so many nodes of the scene bear none of the taints and have a pod of the workload. */
export async function takenIn(scene: Scene, count: number, taints: Taint[]): Promise<Node[]> {
  return waitFor(
    async () => {
      const ready = (await scene.nodes()).filter((node) => !taints.some((t) => bears(node, t)));
      const web = (await scene.webPods()).filter(isReady).map(({ spec }) => spec.nodeName);
      const used = ready.filter(({ metadata }) => web.includes(metadata.name));
      return used.length >= count && used;
    },
    {
      timeout: patience,
      interval: 250,
      what: `${count} nodes of ${scene.name} with workload`,
      describe: () => scene.describe(),
    },
  );
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
