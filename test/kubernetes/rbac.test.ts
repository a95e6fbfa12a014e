import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  actuatorGroup,
  operatorGroup,
  rbacManifests,
  rbacYaml,
  readerGroup,
  reporterGroup,
} from '../../lib/kubernetes/rbac.ts';

interface Manifest {
  kind: string;
  metadata: { name: string };
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
  'get daemonsets',
  'get nodeclaims',
  'get nodepools',
  'get nodes',
  'get persistentvolumeclaims',
  'get pods',
  'list controllerrevisions',
  'list daemonsets',
  'list events',
  'list nodeclaims',
  'list nodehealthchecks',
  'list nodepools',
  'list nodes',
  'list poddisruptionbudgets',
  'list pods',
  'list volumeattachments',
];

describe('rbacManifests', () => {
  it('lets the reader only read', () => {
    expect(rightsOf(readerGroup)).toEqual(readerRights);
  });

  it('lets all see the leases of the kubelets, and no other leases', () => {
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
    expect(binding?.spec).toEqual({
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

describe('rbacYaml', () => {
  it('holds the same objects as one stream', () => {
    const documents = parseAllDocuments(rbacYaml());
    expect(documents.map((document) => document.toJS())).toEqual(manifests);
  });
});
