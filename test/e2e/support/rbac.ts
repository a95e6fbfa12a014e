import { ApiError } from '../harness/client.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { waitFor } from '../harness/wait.ts';
import { nodegap } from './nodegap.ts';

/** Gives the cluster what `nodegap rbac` prints with these options, as the README says. */
export async function applyRbac(cluster: ControlPlane, options: string[] = []): Promise<void> {
  const { code, stdout, stderr } = await nodegap(['rbac', ...options]);
  if (code !== 0) throw new Error(`nodegap rbac ended with ${code}: ${stderr}`);
  await cluster.kubectl(['apply', '-f', '-'], { stdin: stdout });
}

/**
 * Waits until the API server enforces the admission policy, which takes it some seconds: until it
 * refuses a change that RBAC alone would allow.
 */
export async function policyInForce(cluster: ControlPlane, node: string): Promise<void> {
  await waitFor(
    async () => {
      try {
        await cluster
          .client('actuator')
          .patch(`/api/v1/nodes/${node}?dryRun=All`, { metadata: { labels: { probe: 'x' } } });
        return false;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return error.message.includes('ValidatingAdmissionPolicy');
      }
    },
    { timeout: 30_000, what: 'the admission policy to be in force' },
  );
}

/** The RBAC and the policy of the product on a cluster, which has to have no node yet. */
export async function prepare(cluster: ControlPlane, options: string[] = []): Promise<void> {
  const client = cluster.client();
  await applyRbac(cluster, options);
  await client.create('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'probe' },
  });
  await policyInForce(cluster, 'probe');
  await cluster.kubectl(['delete', 'node', 'probe']);
}
