import { isKubernetesError, KubernetesError, messageOf } from '../../lib/errors.ts';
import { errorFromAnswer } from '../../lib/kubernetes/errors.ts';
import type { Transport } from '../../lib/kubernetes/transport.ts';
import { installationOf } from './leftovers.ts';

/**
 * The installation that all command lines on a cluster are. The uid of kube-system is the usual
 * identity of a cluster: it stays as long as the cluster does.
 * @throws KubernetesError when it cannot be read; its hint names the role that may.
 */
export async function readInstallation(transport: Transport): Promise<string> {
  const request = { method: 'GET', path: '/api/v1/namespaces/kube-system' } as const;
  const answer = await transport.request(request);
  if (answer.status !== 200) {
    const error = errorFromAnswer(request, answer);
    throw isKubernetesError(error, 'forbidden') ? withoutRight(error) : error;
  }
  const { metadata } = JSON.parse(answer.body.toString('utf8')) as { metadata?: { uid?: string } };
  if (metadata?.uid !== undefined) return installationOf(metadata.uid);
  throw new KubernetesError('server', 'namespace kube-system has no uid', { status: 200 });
}

/** The reader and the actuator of `nodegap rbac` may not read it: they never need it in an account. */
function withoutRight(error: KubernetesError): KubernetesError {
  return new KubernetesError('forbidden', messageOf(error), {
    status: error.status,
    hint: 'remediate and release need the role that `nodegap rbac --operator` prints; apply it with kubectl',
    cause: error,
  });
}
