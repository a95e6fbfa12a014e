/**
 * The objects that `nodegap rbac` prints: what a cluster has to be given before nodegap can read it
 * or act on it. On EKS the groups come from access entries.
 *
 * RBAC cannot say which fields of a node may be patched, so an admission policy does: of a node the
 * actuator may change `spec.unschedulable`, its own taints and its own annotations.
 */
import { stringify } from 'yaml';

export const readerGroup = 'nodegap:reader';
/** Functions that write nothing in a cluster but Events on nodes. */
export const reporterGroup = 'nodegap:reporter';
export const actuatorGroup = 'nodegap:actuator';
/** People who run `nodegap remediate`, which keeps its state in the cluster. */
export const operatorGroup = 'nodegap:operator';

const ownPrefix = 'nodegap.dev/';
const readerName = 'nodegap-reader';
const reporterName = 'nodegap-reporter';
const actuatorName = 'nodegap-actuator';
const operatorName = 'nodegap-operator';
const policyName = 'nodegap-actuator-node-changes';
const rbacApi = 'rbac.authorization.k8s.io';

interface PolicyRule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  /** These objects only. */
  resourceNames?: string[];
}

const readerRules: PolicyRule[] = [
  { apiGroups: [''], resources: ['nodes', 'pods'], verbs: ['get', 'list'] },
  { apiGroups: [''], resources: ['events'], verbs: ['list'] },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get'] },
  { apiGroups: ['apps'], resources: ['daemonsets'], verbs: ['get', 'list'] },
  { apiGroups: ['apps'], resources: ['controllerrevisions'], verbs: ['list'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['list'] },
  { apiGroups: ['karpenter.sh'], resources: ['nodeclaims', 'nodepools'], verbs: ['get', 'list'] },
  // Only there with medik8s; the rule does no harm without.
  { apiGroups: ['remediation.medik8s.io'], resources: ['nodehealthchecks'], verbs: ['list'] },
];

/** The leases of the kubelets, in the one namespace that holds nothing else. */
const leaseNamespace = 'kube-node-lease';
const leaseRules: PolicyRule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get'] },
];

/** The state of `nodegap remediate`, in the one namespace that holds nothing else. */
const stateNamespace = 'nodegap';
const stateRules: PolicyRule[] = [
  {
    apiGroups: [''],
    resources: ['configmaps'],
    verbs: ['get', 'list', 'create', 'update', 'delete'],
  },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ['get', 'list', 'create', 'update', 'delete'],
  },
];

/** The uid of this namespace tells clusters apart. */
const operatorRules: PolicyRule[] = [
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get'], resourceNames: ['kube-system'] },
];

export interface RbacOptions {
  /** Also what people need who run `nodegap remediate`. */
  operator?: boolean;
  /** Also the right to delete pods, for `drain.force` alone. */
  forceDrain?: boolean;
}

/** On top of the reader's. */
const reporterRules: PolicyRule[] = [
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
];

/** On top of the reporter's. No `delete` on pods: an eviction is a create, and respects budgets. */
const actuatorRules: PolicyRule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['patch'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: ['karpenter.sh'], resources: ['nodeclaims'], verbs: ['delete'] },
];

/**
 * Deletion passes budgets by, so it is given on demand, and by the same role: applied again without
 * it, the role loses it.
 */
const forceDrainRule: PolicyRule = { apiGroups: [''], resources: ['pods'], verbs: ['delete'] };

/** All objects, in an order in which they can be applied. */
export function rbacManifests({
  forceDrain = false,
  operator = false,
}: RbacOptions = {}): object[] {
  const rules = [...actuatorRules, ...(forceDrain ? [forceDrainRule] : [])];
  const operators = operator ? [operatorGroup] : [];
  const actuators = [actuatorGroup, ...operators];
  const reporters = [reporterGroup, ...actuators];
  const readers = [readerGroup, ...reporters];
  return [
    ...(operator
      ? [{ apiVersion: 'v1', kind: 'Namespace', metadata: metadata(stateNamespace) }]
      : []),
    clusterRole(readerName, readerRules),
    clusterRoleBinding(readerName, readers),
    role(readerName, leaseNamespace, leaseRules),
    roleBinding(readerName, leaseNamespace, readers),
    clusterRole(reporterName, reporterRules),
    clusterRoleBinding(reporterName, reporters),
    clusterRole(actuatorName, rules),
    clusterRoleBinding(actuatorName, actuators),
    ...(operator
      ? [
          clusterRole(operatorName, operatorRules),
          clusterRoleBinding(operatorName, operators),
          role(operatorName, stateNamespace, stateRules),
          roleBinding(operatorName, stateNamespace, operators),
        ]
      : []),
    nodeChangesPolicy(),
    nodeChangesBinding(),
  ];
}

/** The same as one YAML stream for `kubectl apply -f -`. */
export function rbacYaml(options: RbacOptions = {}): string {
  return rbacManifests(options)
    .map((object) => stringify(object, { lineWidth: 0 }))
    .join('---\n');
}

function clusterRole(name: string, rules: PolicyRule[]): object {
  return { apiVersion: `${rbacApi}/v1`, kind: 'ClusterRole', metadata: metadata(name), rules };
}

function role(name: string, namespace: string, rules: PolicyRule[]): object {
  return {
    apiVersion: `${rbacApi}/v1`,
    kind: 'Role',
    metadata: { ...metadata(name), namespace },
    rules,
  };
}

function roleBinding(name: string, namespace: string, groups: string[]): object {
  return {
    apiVersion: `${rbacApi}/v1`,
    kind: 'RoleBinding',
    metadata: { ...metadata(name), namespace },
    roleRef: { apiGroup: rbacApi, kind: 'Role', name },
    subjects: subjectsOf(groups),
  };
}

function subjectsOf(groups: string[]): object[] {
  return groups.map((group) => ({ apiGroup: rbacApi, kind: 'Group', name: group }));
}

function clusterRoleBinding(name: string, groups: string[]): object {
  return {
    apiVersion: `${rbacApi}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: metadata(name),
    roleRef: { apiGroup: rbacApi, kind: 'ClusterRole', name },
    subjects: subjectsOf(groups),
  };
}

/**
 * Spec and metadata fields are compared one by one, since CEL cannot leave fields out of an object.
 * Node updates never touch status, which is a subresource of its own.
 */
function nodeChangesPolicy(): object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: metadata(policyName),
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] },
        ],
      },
      matchConditions: [
        {
          name: 'asked-by-the-actuator',
          // Whether there are operators or not: who is one gets the same right to patch nodes.
          expression: `request.userInfo.?groups.orValue([]).exists(g, g in ['${actuatorGroup}', '${operatorGroup}'])`,
        },
      ],
      variables: [
        { name: 'was', expression: 'oldObject.metadata.?annotations.orValue({})' },
        { name: 'is', expression: 'object.metadata.?annotations.orValue({})' },
        { name: 'taintsBefore', expression: 'oldObject.spec.?taints.orValue([])' },
        { name: 'taintsAfter', expression: 'object.spec.?taints.orValue([])' },
      ],
      validations: [
        validation(
          `variables.taintsBefore.filter(t, !t.key.startsWith('${ownPrefix}')) == variables.taintsAfter.filter(t, !t.key.startsWith('${ownPrefix}'))`,
          `nodegap may change only taints whose key begins with ${ownPrefix}`,
        ),
        validation(
          `variables.taintsAfter.all(t, !t.key.startsWith('${ownPrefix}') || t.effect != 'NoExecute' || t in variables.taintsBefore)`,
          'nodegap may not add a NoExecute taint: it would delete pods past their budgets',
        ),
        validation(
          `variables.is.all(k, k.startsWith('${ownPrefix}') || (k in variables.was && variables.was[k] == variables.is[k])) && variables.was.all(k, k.startsWith('${ownPrefix}') || k in variables.is)`,
          `nodegap may change only annotations that begin with ${ownPrefix}`,
        ),
        validation(
          ['labels', 'finalizers', 'ownerReferences']
            .map((field) => unchanged('metadata', field))
            .join(' && '),
          'nodegap may not change labels, finalizers or owners of a node',
        ),
        validation(
          ['podCIDR', 'podCIDRs', 'providerID', 'configSource', 'externalID']
            .map((field) => unchanged('spec', field))
            .join(' && '),
          'of the spec of a node nodegap may change only unschedulable and its own taints',
        ),
      ],
    },
  };
}

function nodeChangesBinding(): object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: metadata(policyName),
    spec: { policyName, validationActions: ['Deny'] },
  };
}

function unchanged(part: string, field: string): string {
  return `object.${part}.?${field} == oldObject.${part}.?${field}`;
}

/** Refused with 403 like any other missing right, not with 422, which means a stale patch. */
function validation(expression: string, message: string): object {
  return { expression, message, reason: 'Forbidden' };
}

function metadata(name: string): Record<string, unknown> {
  return { name, labels: { 'app.kubernetes.io/part-of': 'nodegap' } };
}
