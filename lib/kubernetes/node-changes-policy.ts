/**
 * The admission policy on changes to nodes, and the taint keys that it takes as a parameter.
 *
 * How it works: RBAC cannot say which fields of a node may be patched, so the policy does. It compares
 * the node before and after, with what nodegap may change left out on both sides.
 *
 * Gotchas
 * - Of spec every field but two is compared by whatever name, so that one of a newer Kubernetes is not
 *   forgotten. By its type an object has no fields to go through, while the value has (apiserver,
 *   cel/compile.go, `DynType`): hence `dyn`. Of metadata, which the API server itself writes to, only
 *   what means something to others. Status is a subresource, which a change of a node never touches.
 * - Lists are compared in order: nodegap keeps the order of what is not its own, so whoever changes
 *   it has done something else.
 * - The parameter is the binding itself: its annotation lists the keys. The API server looks for the
 *   parameter before it asks whom a policy is about (apiserver, policy/validating dispatcher.go). Were
 *   it an object of its own, such as a ConfigMap, then without it either nobody could update any node
 *   of the cluster (`Deny`), or nodegap could change everything of one (`Allow`). A binding is not
 *   there without itself, and nobody of nodegap may write it.
 * - `Allow` is right for it: that it is missing happens in the moments in which the API server still
 *   knows a binding that was deleted. `Deny` would refuse everybody's updates in these, too.
 * - An expression may cost 1,000,000 units, all of them 10,000,000 (apiserver, apis/cel/config.go), or
 *   the change is refused: enough for a hundred keys against a hundred taints.
 */
import { isLabelKey } from '../config/selector.ts';
import { UsageError } from '../errors.ts';

const ownPrefix = 'nodegap.dev/';
const policyName = 'nodegap-actuator-node-changes';
const admissionApi = 'admissionregistration.k8s.io/v1';
const bindingKind = 'ValidatingAdmissionPolicyBinding';

/** Of the binding: further taint keys, with commas between them. */
export const taintKeysAnnotation = 'nodegap.dev/taint-keys';

/**
 * Domains and names of taints by which others tell each other, and nodegap, what a node is or what
 * becomes of it. The policy leaves them to their owners even when the list names them.
 */
const reserved: { key: string; owner: string }[] = [
  { key: 'kubernetes.io/', owner: 'Kubernetes' },
  { key: 'node.kubernetes.io/', owner: 'Kubernetes, which tells by them what state a node is in' },
  { key: 'node-role.kubernetes.io/', owner: 'the control plane of the cluster' },
  { key: 'node.cloudprovider.kubernetes.io/', owner: 'the cloud controller' },
  { key: 'node.cluster.x-k8s.io/', owner: 'Cluster API' },
  { key: 'karpenter.sh/', owner: 'Karpenter, which tells by them what it does with a node' },
  { key: 'karpenter.k8s.aws/', owner: 'Karpenter' },
  { key: 'eks.amazonaws.com/', owner: 'EKS' },
  { key: 'medik8s.io/', owner: 'medik8s' },
  { key: 'remediation.medik8s.io/', owner: 'medik8s' },
  { key: 'ToBeDeletedByClusterAutoscaler', owner: 'Cluster Autoscaler' },
  { key: 'DeletionCandidateOfClusterAutoscaler', owner: 'Cluster Autoscaler' },
];

/**
 * Checks keys that nodegap is to be allowed to put on nodes and take off, and gives each once.
 * @throws UsageError naming the first that is no taint key (k8s.io/kubernetes IsQualifiedName), or is
 * nobody's to hand over.
 */
export function checkTaintKeys(keys: readonly string[]): string[] {
  for (const key of keys) {
    const problem = problemOf(key);
    if (problem !== undefined) throw new UsageError(`${JSON.stringify(key)} ${problem}`);
  }
  return [...new Set(keys)];
}

function problemOf(key: string): string | undefined {
  if (!isLabelKey(key)) {
    return 'is not a taint key; write for example node.cilium.io/agent-not-ready, without value or effect';
  }
  if (key.startsWith(ownPrefix))
    return `needs not be named: every key with ${ownPrefix} is nodegap's`;
  const owned = reserved.find(({ key: known }) => isOrIsIn(key, known));
  return owned && `cannot be handed to nodegap: it is for ${owned.owner}`;
}

function isOrIsIn(key: string, known: string): boolean {
  return known.endsWith('/') ? key.startsWith(known) : key === known;
}

/** Policy and binding, in an order in which they can be applied. `groups` are those it is for. */
export function nodeChangesManifests(
  groups: readonly string[],
  taintKeys: readonly string[],
): object[] {
  return [policy(groups), binding(checkTaintKeys(taintKeys))];
}

/** What every object of nodegap bears. */
export function ownMetadata(name: string): Record<string, unknown> {
  return { name, labels: { 'app.kubernetes.io/part-of': 'nodegap' } };
}

const isReserved = reserved
  .map(({ key }) => (key.endsWith('/') ? `k.startsWith('${key}')` : `k == '${key}'`))
  .join(' || ');

/** Whether the taint `t` is nodegap's to change. */
const isHandedOver = `(t.key.startsWith('${ownPrefix}') || t.key in variables.taintKeys)`;

function policy(groups: readonly string[]): object {
  return {
    apiVersion: admissionApi,
    kind: 'ValidatingAdmissionPolicy',
    metadata: ownMetadata(policyName),
    spec: {
      failurePolicy: 'Fail',
      paramKind: { apiVersion: admissionApi, kind: bindingKind },
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] },
        ],
      },
      matchConditions: [
        {
          name: 'asked-by-the-actuator',
          expression: `request.userInfo.?groups.orValue([]).exists(g, g in [${groups.map((group) => `'${group}'`).join(', ')}])`,
        },
      ],
      variables: [
        { name: 'was', expression: 'oldObject.metadata.?annotations.orValue({})' },
        { name: 'is', expression: 'object.metadata.?annotations.orValue({})' },
        { name: 'taintsBefore', expression: 'oldObject.spec.?taints.orValue([])' },
        { name: 'taintsAfter', expression: 'object.spec.?taints.orValue([])' },
        {
          name: 'taintKeys',
          expression: `params.metadata.?annotations['${taintKeysAnnotation}'].orValue('').split(',').map(k, k.trim()).filter(k, !(${isReserved}))`,
        },
      ],
      validations: [
        validation(
          `variables.taintsBefore.filter(t, !${isHandedOver}) == variables.taintsAfter.filter(t, !${isHandedOver})`,
          `nodegap may change only taints whose key begins with ${ownPrefix} or is listed in the annotation ${taintKeysAnnotation} of the binding`,
        ),
        validation(
          `variables.taintsAfter.all(t, !${isHandedOver} || t.effect != 'NoExecute' || t in variables.taintsBefore)`,
          'nodegap may not add a NoExecute taint: it would delete pods past their budgets',
        ),
        validation(
          `variables.is.all(k, k.startsWith('${ownPrefix}') || (k in variables.was && variables.was[k] == variables.is[k])) && variables.was.all(k, k.startsWith('${ownPrefix}') || k in variables.is)`,
          `nodegap may change only annotations that begin with ${ownPrefix}`,
        ),
        validation(
          unchangedIn('metadata', ['labels', 'finalizers', 'ownerReferences']),
          'nodegap may not change labels, finalizers or owners of a node',
        ),
        validation(
          onlyChanged('spec', ['unschedulable', 'taints']),
          'of the spec of a node nodegap may change only unschedulable and its own taints',
        ),
      ],
    },
  };
}

function binding(keys: readonly string[]): object {
  return {
    apiVersion: admissionApi,
    kind: bindingKind,
    metadata: {
      ...ownMetadata(policyName),
      // Also without keys, so that applying it again takes back those that were there.
      annotations: { [taintKeysAnnotation]: keys.join(',') },
    },
    spec: {
      policyName,
      paramRef: { name: policyName, parameterNotFoundAction: 'Allow' },
      validationActions: ['Deny'],
    },
  };
}

function unchangedIn(part: string, fields: string[]): string {
  return fields
    .map((field) => `object.${part}.?${field} == oldObject.${part}.?${field}`)
    .join(' && ');
}

function onlyChanged(part: string, fields: string[]): string {
  const [is, was] = [`dyn(object.${part})`, `dyn(oldObject.${part})`];
  const same = `f in ${is} && f in ${was} && ${is}[f] == ${was}[f]`;
  const names = fields.map((field) => `'${field}'`).join(', ');
  return `[${is}, ${was}].all(part, part.all(f, f in [${names}] || (${same})))`;
}

/** Refused with 403 like any other missing right, not with 422, which means a stale patch. */
function validation(expression: string, message: string): object {
  return { expression, message, reason: 'Forbidden' };
}
