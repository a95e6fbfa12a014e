/**
 * Changes to one cluster: client-node's typed calls over the project's transport.
 *
 * Gotchas
 * - client-node's own HTTP library opens a connection for every request. It is given ours, which
 *   also signs the requests, so that it needs no authentication of its own.
 * - Its models turn times into Date objects, so results are taken from the raw body instead.
 * - It sends every patch as JSON patch unless the header says otherwise.
 */
import {
  type Configuration,
  CoreV1Api,
  CustomObjectsApi,
  createConfiguration,
  PatchStrategy,
  ResponseContext,
  SelfDecodingBody,
  ServerConfiguration,
  setHeaderOptions,
  wrapHttpLibrary,
} from '@kubernetes/client-node';
import type { Clock } from '../clock.ts';
import { isKubernetesError, KubernetesError, messageOf } from '../errors.ts';
import type { ClusterWriter, EvictionOutcome, JsonPatchOperation, PodRef } from '../ports.ts';
import { createAccessReviewer } from './access-review.ts';
import { AnsweredError, errorFromAnswer } from './errors.ts';
import { isAbsent, isUidMismatch, readEvictionError } from './eviction.ts';
import { createNodeEventWriter } from './node-events.ts';
import type { Node } from './objects.ts';
import { projectNode } from './projections.ts';
import { createReader } from './reader.ts';
import type { Method, Transport } from './transport.ts';

/**
 * Makes the writer of the cluster that `transport` leads to. `clock` dates the Events.
 * What the API server refuses is thrown as KubernetesError.
 */
export function createWriter(transport: Transport, clock: Clock): ClusterWriter {
  const configuration = configurationOver(transport);
  const core = new CoreV1Api(configuration);
  const customObjects = new CustomObjectsApi(configuration);
  const reader = createReader(transport);

  async function patchNode(name: string, patch: JsonPatchOperation[]): Promise<Node> {
    try {
      const answer = await core.patchNodeWithHttpInfo(
        { name, body: patch },
        setHeaderOptions('Content-Type', PatchStrategy.JsonPatch),
      );
      return projectNode(JSON.parse(await answer.body.text()));
    } catch (error) {
      throw isFailedPatchTest(error) ? staleNode(name, error) : error;
    }
  }

  async function evictPod(pod: PodRef): Promise<EvictionOutcome> {
    try {
      await core.createNamespacedPodEviction({
        name: pod.name,
        namespace: pod.namespace,
        body: {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name: pod.name, namespace: pod.namespace },
          deleteOptions: { preconditions: { uid: pod.uid } },
        },
      });
      return { kind: 'accepted' };
    } catch (error) {
      const reading = readEvictionError(error);
      if (reading.kind === 'failed') throw error;
      return reading.kind === 'settled' ? reading.outcome : lookAgain(pod, reading.message);
    }
  }

  async function lookAgain(pod: PodRef, message: string): Promise<EvictionOutcome> {
    const now = await reader.getPod(pod.namespace, pod.name);
    if (now === undefined || now.metadata.uid !== pod.uid) return { kind: 'gone' };
    if (now.metadata.deletionTimestamp !== undefined) return { kind: 'accepted' };
    return { kind: 'retry', message };
  }

  async function deletePod(
    { namespace, name, uid, resourceVersion }: PodRef & { resourceVersion: string },
    graceSeconds: number,
  ): Promise<'accepted' | 'gone' | 'changed'> {
    if (!(graceSeconds >= 1)) throw new RangeError(`a grace of ${graceSeconds} s deletes at once`);
    try {
      await core.deleteNamespacedPod({
        namespace,
        name,
        body: { gracePeriodSeconds: graceSeconds, preconditions: { uid, resourceVersion } },
      });
      return 'accepted';
    } catch (error) {
      if (isAbsent(error) || isUidMismatch(error)) return 'gone';
      if (isKubernetesError(error, 'conflict')) return 'changed';
      throw error;
    }
  }

  async function deleteNodeClaim(name: string, uid: string): Promise<boolean> {
    try {
      await customObjects.deleteClusterCustomObject({
        group: 'karpenter.sh',
        version: 'v1',
        plural: 'nodeclaims',
        name,
        body: { preconditions: { uid } },
      });
      return true;
    } catch (error) {
      // Another claim of the same name means that ours is gone.
      if (isAbsent(error) || isUidMismatch(error)) return false;
      throw error;
    }
  }

  return {
    patchNode,
    evictPod,
    deletePod,
    deleteNodeClaim,
    ...createNodeEventWriter(transport, clock),
    ...createAccessReviewer(transport),
  };
}

/**
 * A JSON patch that does not apply (a failed `test`, a path that is not there) is answered with 422
 * Invalid as a validation error is, but names neither the object nor causes.
 */
function isFailedPatchTest(error: unknown): error is AnsweredError {
  return (
    error instanceof AnsweredError &&
    error.status === 422 &&
    error.answer.name === undefined &&
    error.answer.causes.length === 0
  );
}

function staleNode(name: string, cause: AnsweredError): KubernetesError {
  return new KubernetesError(
    'conflict',
    `node ${name} is not as it was read: the patch did not apply (${messageOf(cause)})`,
    { status: cause.status, cause },
  );
}

/** client-node's configuration with our transport as HTTP library; refusals become typed errors. */
function configurationOver(transport: Transport): Configuration {
  return createConfiguration({
    // Only path and query are used: where the request goes is the transport's to know.
    baseServer: new ServerConfiguration('https://transport.invalid', {}),
    authMethods: {},
    httpApi: wrapHttpLibrary({
      async send(request) {
        const url = new URL(request.getUrl());
        const method = request.getHttpMethod() as Method;
        const body = request.getBody();
        const signal = request.getSignal();
        const line = { method, path: url.pathname };
        const answer = await transport.request({
          ...line,
          query: Object.fromEntries(url.searchParams),
          headers: request.getHeaders(),
          ...(typeof body === 'string' ? { body } : {}),
          ...(signal === undefined ? {} : { signal }),
        });
        if (answer.status < 200 || answer.status > 299) throw errorFromAnswer(line, answer);
        return new ResponseContext(
          answer.status,
          answer.headers,
          new SelfDecodingBody(Promise.resolve(answer.body)),
        );
      },
    }),
  });
}
