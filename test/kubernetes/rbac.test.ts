import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { knownStartupTaints } from '../../lib/config/schema.ts';
import { UsageError } from '../../lib/errors.ts';
import {
  actuatorGroup,
  auditorGroup,
  operatorGroup,
  rbacManifests,
  rbacYaml,
  readerGroup,
  reporterGroup,
} from '../../lib/kubernetes/rbac.ts';

interface Manifest {
  kind: string;
  apiVersion: string;
  metadata: { name: string; annotations?: Record<string, string> };
  rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
  roleRef?: { name: string };
  subjects?: { kind: string; name: string }[];
  spec?: Record<string, unknown>;
}

const manifests = rbacManifests() as Manifest[];

/** All that a group may do, as `verb resource`. */
function rightsOf(group: string, manifests = rbacManifests() as Manifest[]): string[] {
  const roles = manifests
    .filter(({ kind }) => kind === 'ClusterRoleBinding')
    .filter(({ subjects }) => subjects?.some(({ name }) => name === group))
    .map(({ roleRef }) => roleRef?.name);
  const rules = manifests
    .filter(({ kind, metadata }) => kind === 'ClusterRole' && roles.includes(metadata.name))
    .flatMap(({ rules }) => rules ?? []);
  return rules
    .flatMap(({ resources, verbs }) => resources.flatMap((r) => verbs.map((v) => `${v} ${r}`)))
    .sort();
}

const readerRights = [
  'get nodeclaims',
  'get nodes',
  'get persistentvolumeclaims',
  'get pods',
  'list daemonsets',
  'list events',
  'list nodeclaims',
  'list nodehealthchecks',
  'list nodes',
  'list poddisruptionbudgets',
  'list pods',
  'list volumeattachments',
];

describe('rbacManifests', () => {
  it('lets the reader only read', () => {
    expect(rightsOf(readerGroup)).toEqual(readerRights);
  });

  it('lets the auditor list what new nodes are made from, and do nothing else', () => {
    expect(rightsOf(auditorGroup)).toEqual([
      'list daemonsets',
      'list deployments',
      'list ec2nodeclasses',
      'list nodeclasses',
      'list nodepools',
      'list nodes',
      'list priorityclasses',
      'list statefulsets',
    ]);
  });

  it('lets all but the auditor see the leases of the kubelets, and no other leases', () => {
    const roles = manifests.filter(({ kind }) => kind === 'Role');
    expect(roles).toMatchObject([
      {
        metadata: { name: 'nodegap-reader', namespace: 'kube-node-lease' },
        rules: [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get'] }],
      },
    ]);
    const [binding, ...more] = manifests.filter(({ kind }) => kind === 'RoleBinding');
    expect(more).toEqual([]);
    expect(binding).toMatchObject({
      metadata: { namespace: 'kube-node-lease' },
      roleRef: { kind: 'Role', name: 'nodegap-reader' },
    });
    expect(binding?.subjects?.map(({ name }) => name)).toEqual([
      readerGroup,
      reporterGroup,
      actuatorGroup,
    ]);
  });

  it('lets the actuator delete pods on demand only', () => {
    const forcing = rbacManifests({ forceDrain: true }) as Manifest[];
    expect(rightsOf(actuatorGroup, forcing)).toEqual(
      [...rightsOf(actuatorGroup), 'delete pods'].sort(),
    );
    expect(rightsOf(readerGroup, forcing)).toEqual(rightsOf(readerGroup));
  });

  it('lets the reporter read, and write Events', () => {
    expect(rightsOf(reporterGroup)).toEqual(
      [...readerRights, 'create events', 'patch events'].sort(),
    );
  });

  it('lets the actuator read, patch nodes, evict, write events and delete NodeClaims', () => {
    expect(rightsOf(actuatorGroup)).toEqual(
      [
        ...readerRights,
        'create events',
        'create pods/eviction',
        'delete nodeclaims',
        'patch events',
        'patch nodes',
      ].sort(),
    );
  });

  it("gives people who remediate the actuator's rights and a namespace for their state", () => {
    const printed = rbacManifests({ operator: true }) as Manifest[];
    expect(rightsOf(operatorGroup)).toEqual([]);
    expect(rightsOf(operatorGroup, printed)).toEqual(
      [...rightsOf(actuatorGroup), 'get namespaces'].sort(),
    );
    expect(rightsOf(actuatorGroup, printed)).toEqual(rightsOf(actuatorGroup));
    expect(printed[0]).toMatchObject({ kind: 'Namespace', metadata: { name: 'nodegap' } });
    const verbs = ['get', 'list', 'create', 'update', 'delete'];
    expect(printed.filter(({ metadata }) => metadata.name === 'nodegap-operator')).toMatchObject([
      {
        kind: 'ClusterRole',
        rules: [{ resources: ['namespaces'], resourceNames: ['kube-system'] }],
      },
      { kind: 'ClusterRoleBinding', subjects: [{ name: operatorGroup }] },
      {
        kind: 'Role',
        metadata: { namespace: 'nodegap' },
        rules: [
          { apiGroups: [''], resources: ['configmaps'], verbs },
          { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs },
        ],
      },
      {
        kind: 'RoleBinding',
        metadata: { namespace: 'nodegap' },
        subjects: [{ name: operatorGroup }],
      },
    ]);
  });

  it('limits what the actuator changes on a node by a policy that is bound and denies', () => {
    const policy = manifests.find(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    const binding = manifests.find(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding');
    expect(binding?.spec).toMatchObject({
      policyName: policy?.metadata.name,
      validationActions: ['Deny'],
    });
    expect(policy?.spec).toMatchObject({
      failurePolicy: 'Fail',
      matchConditions: [
        { expression: expect.stringContaining(`['${actuatorGroup}', '${operatorGroup}']`) },
      ],
    });
  });
});

describe('the taint keys that nodegap may change beside its own', () => {
  const bindingWith = (taintKeys?: string[]) =>
    (rbacManifests({ ...(taintKeys && { taintKeys }) }) as Manifest[]).find(
      ({ kind }) => kind === 'ValidatingAdmissionPolicyBinding',
    );
  const keysIn = (taintKeys?: string[]) =>
    bindingWith(taintKeys)?.metadata.annotations?.['nodegap.dev/taint-keys'];

  it('are none unless they are named, and each is listed once', () => {
    expect(keysIn()).toBe('');
    const keys = ['ebs.csi.aws.com/agent-not-ready', 'dedicated', 'dedicated'];
    expect(keysIn(keys)).toBe('ebs.csi.aws.com/agent-not-ready,dedicated');
  });

  it('are a parameter that cannot be missing: the binding itself', () => {
    const binding = bindingWith();
    const policy = manifests.find(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    const { apiVersion, kind, metadata } = binding ?? {};
    expect(policy?.spec?.paramKind).toEqual({ apiVersion, kind });
    expect(binding?.spec?.paramRef).toEqual({
      name: metadata?.name,
      parameterNotFoundAction: 'Allow',
    });
  });

  it('are out of reach of everybody of nodegap', () => {
    const groups = (rbacManifests({ operator: true, forceDrain: true }) as Manifest[])
      .flatMap(({ rules }) => rules ?? [])
      .flatMap(({ apiGroups }) => apiGroups);
    expect(groups).toContain('policy');
    expect(groups).not.toContain('admissionregistration.k8s.io');
  });

  it.each([
    ['', /^"" is not a taint key/],
    ['a b', /is not a taint key/],
    ['a,b', /is not a taint key/],
    ['key=value', /is not a taint key/],
    ['key:NoSchedule', /is not a taint key/],
    ['a/b/c', /is not a taint key/],
    ['UPPER.example/x', /is not a taint key/],
    ["x' || true || '", /is not a taint key/],
    ['x\ny', /^"x\\ny" is not a taint key/],
    ['nodegap.dev/daemonset-gap', /needs not be named/],
    [
      'node.kubernetes.io/unschedulable',
      /^"node.kubernetes.io\/unschedulable" cannot .*Kubernetes/,
    ],
    ['node.kubernetes.io/not-ready', /for Kubernetes/],
    ['node-role.kubernetes.io/control-plane', /for the control plane/],
    ['node.cloudprovider.kubernetes.io/uninitialized', /for the cloud controller/],
    ['karpenter.sh/disrupted', /for Karpenter/],
    ['karpenter.sh/unregistered', /for Karpenter/],
    ['eks.amazonaws.com/compute-type', /for EKS/],
    ['ToBeDeletedByClusterAutoscaler', /for Cluster Autoscaler/],
    ['remediation.medik8s.io/quarantine', /for medik8s/],
  ])('never hold %j', (key, says) => {
    expect(() => keysIn(['dedicated', key])).toThrow(UsageError);
    expect(() => keysIn(['dedicated', key])).toThrow(says);
  });

  it.each([
    ...knownStartupTaints,
    'startup-taint.cluster-autoscaler.kubernetes.io/agent',
    'nfs.csi.k8s.io/agent-not-ready',
  ])('may hold %j', (key) => {
    expect(keysIn([key])).toBe(key);
  });
});

describe('rbacYaml', () => {
  it('holds the same objects as one stream', () => {
    const documents = parseAllDocuments(rbacYaml());
    expect(documents.map((document) => document.toJS())).toEqual(manifests);
  });
});
