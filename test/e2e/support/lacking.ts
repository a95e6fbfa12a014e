/** Identities that have all rights that `nodegap rbac` prints for the actuator, but for one. */
import { readFileSync } from 'node:fs';
import { rbacManifests } from '../../../lib/kubernetes/rbac.ts';
import type { AuditEntry } from '../harness/audit.ts';
import { KubeClient, type KubeObject } from '../harness/client.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { waitFor } from '../harness/wait.ts';

/** One verb on one resource. */
export interface Right {
  verb: string;
  /** `pods/eviction` for a subresource. */
  resource: string;
  group: string;
  /** Of a Role; that of a ClusterRole holds everywhere. */
  namespace?: string;
}

interface Rule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
}

interface Role extends KubeObject {
  rules: Rule[];
}

const manifests = rbacManifests({ forceDrain: true }) as KubeObject[];
/** Those of the actuator. What the audit may do is shown where it is (audit.e2e). */
const roles = manifests
  .filter((object): object is Role => object.rules !== undefined)
  .filter(({ metadata }) => metadata.name !== 'nodegap-auditor');

/** Every right of reader, reporter and actuator, that for `drain.force` included. */
export const allRights: Right[] = roles.flatMap(({ rules, metadata: { namespace } }) =>
  rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.map((verb) => ({ verb, resource, group, ...(namespace && { namespace }) })),
      ),
    ),
  ),
);

/** As nodegap names it: `list daemonsets.apps`. */
export function nameOf({ verb, resource, group }: Right): string {
  return `${verb} ${resource}${group === '' ? '' : `.${group}`}`;
}

/** Applies the admission policy alone: what an identity may do, `lacking` says. */
export async function applyPolicy(cluster: ControlPlane): Promise<void> {
  const items = manifests.filter(({ kind }) => kind.startsWith('ValidatingAdmissionPolicy'));
  const stdin = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await cluster.kubectl(['apply', '-f', '-'], { stdin });
}

export interface LackingIdentity {
  user: string;
  kubeconfig: string;
  /** Everything that it has asked for so far. */
  audit(): AuditEntry[];
}

/** A new identity in the groups of the actuator, with every right of it but that one. */
export async function lacking(cluster: ControlPlane, missing: string): Promise<LackingIdentity> {
  const { kubeconfig, audit } = cluster.newActuator();
  const { name: user, token } = userIn(kubeconfig);
  const admin = cluster.client();
  for (const role of roles) {
    const metadata = { ...role.metadata, name: `${role.metadata.name}-${user}` };
    const rules = role.rules.flatMap((rule) => without(missing, rule));
    await admin.apply({ ...role, metadata, rules });
    await admin.apply({
      apiVersion: role.apiVersion,
      kind: `${role.kind}Binding`,
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: role.kind, name: metadata.name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    });
  }
  const client = new KubeClient({ server: cluster.server, ca: readCa(cluster), token });
  await waitFor(
    async () => {
      for (const right of allRights) {
        if ((await isAllowed(client, right)) !== (nameOf(right) !== missing)) return false;
      }
      return true;
    },
    { timeout: 120_000, what: `${user} to have all rights but ${missing}` },
  );
  client.close();
  return { user, kubeconfig, audit };
}

function readCa({ caFile }: ControlPlane): string {
  return readFileSync(caFile, 'utf8');
}

function userIn(kubeconfig: string): { name: string; token: string } {
  const { users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {
    users: { name: string; user: { token: string } }[];
  };
  const [first] = users;
  if (first === undefined) throw new Error(`${kubeconfig} names no user`);
  return { name: first.name, token: first.user.token };
}

/** The rule as one for each resource, without the verb on the one that it is about. */
function without(missing: string, { apiGroups, resources, verbs }: Rule): Rule[] {
  const [group = ''] = apiGroups;
  return resources
    .map((resource) => ({
      apiGroups,
      resources: [resource],
      verbs: verbs.filter((verb) => nameOf({ verb, resource, group }) !== missing),
    }))
    .filter((rule) => rule.verbs.length > 0);
}

async function isAllowed(client: KubeClient, right: Right): Promise<boolean> {
  const [resource, subresource] = right.resource.split('/');
  const { verb, group, namespace } = right;
  const review = await client.create<{ status: { allowed: boolean } }>(
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: {
        resourceAttributes: {
          verb,
          resource,
          group,
          ...(subresource && { subresource }),
          ...(namespace && { namespace }),
        },
      },
    },
  );
  return review.status.allowed;
}
