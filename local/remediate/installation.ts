import { KubernetesError } from '../../lib/errors.ts';
import { errorFromAnswer } from '../../lib/kubernetes/errors.ts';
import type { Transport } from '../../lib/kubernetes/transport.ts';
import { installationOf } from './leftovers.ts';

/**
 * The installation that all command lines on a cluster are. The uid of kube-system is the usual
 * identity of a cluster: it stays as long as the cluster does.
 * @throws KubernetesError when it cannot be read.
 */
export async function readInstallation(transport: Transport): Promise<string> {
  const request = { method: 'GET', path: '/api/v1/namespaces/kube-system' } as const;
  const answer = await transport.request(request);
  if (answer.status !== 200) throw errorFromAnswer(request, answer);
  const { metadata } = JSON.parse(answer.body.toString('utf8')) as { metadata?: { uid?: string } };
  if (metadata?.uid !== undefined) return installationOf(metadata.uid);
  throw new KubernetesError('server', 'namespace kube-system has no uid', { status: 200 });
}
