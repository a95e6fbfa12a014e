/** Troubles of a pod that no fake kubelet can make: they are about whether it is there at all. */
import type { ControlPlane } from '../harness/control-plane.ts';
import type { Pair } from '../harness/faults.ts';
import { daemonSetManifest } from '../harness/objects.ts';
import { podsOf } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';

const patience = 60_000;

/** The pod of the pair is deleted, and its kubelet never ends it. */
export async function leaveTerminating(cluster: ControlPlane, pair: Pair): Promise<void> {
  await cluster.injector.set(pair, 'stuck-terminating');
  const pod = await onlyPod(cluster, pair);
  await waitFor(
    async () => {
      const { metadata } = await onlyPod(cluster, pair);
      return metadata.annotations?.['nodegap-test/outcome'] === 'stuck-terminating';
    },
    { timeout: patience, what: 'the fake kubelet to be told' },
  );
  const { namespace = '', name } = pod.metadata;
  await cluster.kubectl(['-n', namespace, 'delete', 'pod', name, '--wait=false']);
}

async function onlyPod(cluster: ControlPlane, pair: Pair) {
  const [pod] = await podsOf(cluster.client(), pair);
  if (pod === undefined) throw new Error(`${pair.daemonSet} has no pod on ${pair.node}`);
  return pod;
}

/**
 * The pod of the pair is gone, its controller makes no other, and no event says why: a policy
 * refuses the pod for that one node, and the event about it as well. Other nodes get theirs.
 */
export async function leaveWithout(cluster: ControlPlane, pair: Pair): Promise<void> {
  const [namespace = '', daemonSet = ''] = pair.daemonSet.split('/');
  const policy = `without-${daemonSet}`;
  await refuse(cluster, policy, {
    namespace,
    rules: [
      {
        resource: 'events',
        unless: `!(object.reason == 'FailedCreate' && object.involvedObject.name == '${daemonSet}')`,
      },
      // Last, so that what says so is refused before it is.
      { resource: 'pods', unless: `!(${isFor(pair.node, daemonSet)})` },
    ],
    probe: podFor(pair),
  });
  const pod = await onlyPod(cluster, pair);
  await cluster.kubectl(['-n', namespace, 'delete', 'pod', pod.metadata.name]);
  await waitFor(async () => (await podsOf(cluster.client(), pair)).length === 0, {
    timeout: patience,
    what: `${pair.daemonSet} on ${pair.node} to be gone`,
  });
}

/** The API server refuses pods of a DaemonSet, wherever they are for. */
export async function refusePods(cluster: ControlPlane, daemonSet: string): Promise<void> {
  const [namespace = '', name = ''] = daemonSet.split('/');
  await refuse(cluster, `no-${name}`, {
    namespace,
    rules: [
      { resource: 'pods', unless: `!(object.metadata.?labels.app.orValue('') == '${name}')` },
    ],
    probe: podFor({ node: 'nowhere', daemonSet }),
  });
}

function isFor(node: string, app: string): string {
  const field =
    'object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0].values[0]';
  return `object.metadata.?labels.app.orValue('') == '${app}' && has(object.spec.affinity) && ${field} == '${node}'`;
}

interface Refusal {
  namespace: string;
  rules: { resource: 'pods' | 'events'; unless: string }[];
  /** A pod that is refused once the policy is in force. */
  probe: object;
}

async function refuse(cluster: ControlPlane, name: string, refusal: Refusal): Promise<void> {
  const client = cluster.client();
  const { namespace, rules, probe } = refusal;
  const apiVersion = 'admissionregistration.k8s.io/v1';
  for (const { resource, unless } of rules) {
    const metadata = { name: `${name}-${resource}` };
    await client.apply({
      apiVersion,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource] },
          ],
        },
        validations: [{ expression: unless, message: `refused by ${metadata.name}` }],
      },
    });
    await client.apply({
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: metadata.name, validationActions: ['Deny'] },
    });
  }
  await waitFor(
    async () => {
      try {
        await client.create(`/api/v1/namespaces/${namespace}/pods?dryRun=All`, probe as never);
        return false;
      } catch (error) {
        return String(error).includes('refused by');
      }
    },
    { timeout: patience, what: `the policy ${name} to be in force` },
  );
}

/** A pod as the controller would make it for the pair. */
function podFor({ node, daemonSet }: Pair): object {
  const [namespace = '', name = ''] = daemonSet.split('/');
  const { spec } = daemonSetManifest({ name, namespace }) as unknown as {
    spec: { template: { metadata: object; spec: object } };
  };
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...spec.template.metadata, name: 'probe', namespace },
    spec: {
      ...spec.template.spec,
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields }],
          },
        },
      },
    },
  };
}
