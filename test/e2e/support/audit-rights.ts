/** Users who may read what the audit asks for, or all of it but one thing. */
import { readFileSync } from 'node:fs';
import type { KubeClient } from '../harness/client.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { waitFor } from '../harness/wait.ts';

/** What `nodegap audit` reads, as `verb resource.group`. */
export const auditRights = [
  'list daemonsets.apps',
  'list nodes',
  'list pods',
  'list nodepools.karpenter.sh',
  'list ec2nodeclasses.karpenter.k8s.aws',
  'list nodeclasses.eks.amazonaws.com',
  'list deployments.apps',
  'list statefulsets.apps',
  'list priorityclasses.scheduling.k8s.io',
  'list pods.metrics.k8s.io',
  'get configmaps',
  'get secrets',
  'get serviceaccounts',
] as const;

export type AuditRight = (typeof auditRights)[number];

/** The kubeconfig of a new user who may do all of that, but for one. */
export async function userLacking(cluster: ControlPlane, missing?: AuditRight): Promise<string> {
  const { kubeconfig } = cluster.newActuator();
  const { users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as { users: { name: string }[] };
  const user = users[0]?.name ?? '';
  const admin = cluster.client();
  const given = auditRights.filter((right) => right !== missing).map(partsOf);
  const metadata = { name: `audit-${user}` };
  const rbac = 'rbac.authorization.k8s.io';
  await admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRole',
    metadata,
    rules: given.map(({ verb, resource, group }) => ({
      apiGroups: [group],
      resources: [resource],
      verbs: [verb],
    })),
  });
  await admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: metadata.name },
    subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
  });
  await waitFor(
    async () => {
      for (const right of given) if (!(await isAllowed(admin, user, right))) return false;
      return true;
    },
    { timeout: 120_000, what: `${user} to have its rights` },
  );
  return kubeconfig;
}

function partsOf(right: AuditRight): { verb: string; resource: string; group: string } {
  const [verb = '', what = ''] = right.split(' ');
  const [resource = '', ...group] = what.split('.');
  return { verb, resource, group: group.join('.') };
}

async function isAllowed(
  admin: KubeClient,
  user: string,
  resourceAttributes: ReturnType<typeof partsOf>,
): Promise<boolean> {
  const review = await admin.create<{ status: { allowed: boolean } }>(
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user, resourceAttributes },
    },
  );
  return review.status.allowed;
}
