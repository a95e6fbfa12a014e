/**
 * The objects that `nodegap rbac` prints: what a cluster has to be given before nodegap can read it
 * or act on it. On EKS the groups come from access entries.
 */
import { stringify } from 'yaml';
import { nodeChangesManifests, ownMetadata } from './node-changes-policy.ts';

export const readerGroup = 'nodegap:reader';
/** The daily audit. */
export const auditorGroup = 'nodegap:auditor';
/** Functions that write nothing in a cluster but Events on nodes. */
export const reporterGroup = 'nodegap:reporter';
export const actuatorGroup = 'nodegap:actuator';
/** People who run `nodegap remediate`, which keeps its state in the cluster. */
export const operatorGroup = 'nodegap:operator';

const readerName = 'nodegap-reader';
const auditorName = 'nodegap-auditor';
const reporterName = 'nodegap-reporter';
const actuatorName = 'nodegap-actuator';
const operatorName = 'nodegap-operator';
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
  { apiGroups: ['apps'], resources: ['daemonsets'], verbs: ['list'] },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['list'] },
  { apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'], verbs: ['list'] },
  { apiGroups: ['karpenter.sh'], resources: ['nodeclaims'], verbs: ['get', 'list'] },
  // Only there with medik8s; the rule does no harm without.
  { apiGroups: ['remediation.medik8s.io'], resources: ['nodehealthchecks'], verbs: ['list'] },
];

/** Not on top of the reader's: no pods, and neither ConfigMaps nor Secrets, which are for people. */
const auditorRules: PolicyRule[] = [
  { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
  {
    apiGroups: ['apps'],
    resources: ['daemonsets', 'deployments', 'statefulsets'],
    verbs: ['list'],
  },
  { apiGroups: ['karpenter.sh'], resources: ['nodepools'], verbs: ['list'] },
  { apiGroups: ['karpenter.k8s.aws'], resources: ['ec2nodeclasses'], verbs: ['list'] },
  { apiGroups: ['eks.amazonaws.com'], resources: ['nodeclasses'], verbs: ['list'] },
  { apiGroups: ['scheduling.k8s.io'], resources: ['priorityclasses'], verbs: ['list'] },
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
  /** Taint keys that nodegap may put on nodes and take off beside its own. */
  taintKeys?: readonly string[];
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

/**
 * All objects, in an order in which they can be applied.
 * @throws UsageError naming a taint key that cannot be allowed.
 */
export function rbacManifests({
  forceDrain = false,
  operator = false,
  taintKeys = [],
}: RbacOptions = {}): object[] {
  const rules = [...actuatorRules, ...(forceDrain ? [forceDrainRule] : [])];
  const operators = operator ? [operatorGroup] : [];
  const actuators = [actuatorGroup, ...operators];
  const reporters = [reporterGroup, ...actuators];
  const readers = [readerGroup, ...reporters];
  return [
    ...(operator
      ? [{ apiVersion: 'v1', kind: 'Namespace', metadata: ownMetadata(stateNamespace) }]
      : []),
    clusterRole(readerName, readerRules),
    clusterRoleBinding(readerName, readers),
    role(readerName, leaseNamespace, leaseRules),
    roleBinding(readerName, leaseNamespace, readers),
    clusterRole(auditorName, auditorRules),
    clusterRoleBinding(auditorName, [auditorGroup]),
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
    // Whether there are operators or not: who is one gets the same right to patch nodes.
    ...nodeChangesManifests([actuatorGroup, operatorGroup], taintKeys),
  ];
}

/** The same as one YAML stream for `kubectl apply -f -`. */
export function rbacYaml(options: RbacOptions = {}): string {
  return rbacManifests(options)
    .map((object) => stringify(object, { lineWidth: 0 }))
    .join('---\n');
}

function clusterRole(name: string, rules: PolicyRule[]): object {
  return { apiVersion: `${rbacApi}/v1`, kind: 'ClusterRole', metadata: ownMetadata(name), rules };
}

function role(name: string, namespace: string, rules: PolicyRule[]): object {
  return {
    apiVersion: `${rbacApi}/v1`,
    kind: 'Role',
    metadata: { ...ownMetadata(name), namespace },
    rules,
  };
}

function roleBinding(name: string, namespace: string, groups: string[]): object {
  return {
    apiVersion: `${rbacApi}/v1`,
    kind: 'RoleBinding',
    metadata: { ...ownMetadata(name), namespace },
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
    metadata: ownMetadata(name),
    roleRef: { apiGroup: rbacApi, kind: 'ClusterRole', name },
    subjects: subjectsOf(groups),
  };
}
