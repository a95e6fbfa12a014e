/**
 * The Kubernetes objects of the state: reads and conditional writes, nothing else. A ConfigMap keeps
 * its texts in `data`, a Lease its one text in an annotation.
 *
 * Every change demands the resourceVersion that was read. Objects are created empty, which is the
 * same as not being there: a creation cannot be conditioned, so it must not matter when it arrives.
 */
import { isKubernetesError, KubernetesError, NodegapError } from '../errors.ts';
import { AnsweredError, errorFromAnswer, hasCause } from '../kubernetes/errors.ts';
import type { Method, Transport } from '../kubernetes/transport.ts';
import type { Part } from './layout.ts';

export const JOURNAL = 'nodegap-journal';
const partLabel = 'nodegap.dev/part';
const objectLabel = 'nodegap.dev/object';
const markAnnotation = 'nodegap.dev/transaction';
const slotAnnotation = 'nodegap.dev/slot';

/** Shorter than a Lease lasts, so that a renewal that hangs is sent again in time. */
const TIMEOUT_MS = 8_000;

export type ObjectKind = 'configmap' | 'lease';

/** coordination.k8s.io/v1 LeaseSpec. Times are MicroTimes, with six digits after the second. */
export interface LeaseSpec {
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  acquireTime?: string;
  renewTime?: string;
  leaseTransitions?: number;
}

export interface StateObject {
  kind: ObjectKind;
  name: string;
  part: string;
  uid: string;
  resourceVersion: string;
  /** Of the last transaction that wrote it; empty when none did. */
  mark: string;
  texts: Record<string, string>;
  spec: LeaseSpec;
  /** As it was read: what else people and controllers put there stays. */
  raw: RawObject;
}

interface RawObject {
  metadata?: {
    name?: string;
    uid?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  data?: Record<string, string> | null;
  spec?: LeaseSpec | null;
}

export class Objects {
  readonly namespace: string;
  readonly #transport: Transport;

  constructor(transport: Transport, namespace: string) {
    this.#transport = transport;
    this.namespace = namespace;
  }

  /** The ConfigMaps of these parts, at one moment. */
  async listParts(parts: Part[]): Promise<StateObject[]> {
    return this.#list('configmap', `${partLabel} in (${parts.join(',')})`);
  }

  /** The ConfigMaps of these names, at one moment. */
  async listNames(names: string[]): Promise<StateObject[]> {
    return this.#list('configmap', `${objectLabel} in (${names.join(',')})`);
  }

  async listSlots(): Promise<StateObject[]> {
    return this.#list('lease', `${partLabel}=slot`);
  }

  async get(kind: ObjectKind, name: string): Promise<StateObject | undefined> {
    try {
      return objectFrom(kind, await this.#send('GET', this.#path(kind, name)));
    } catch (error) {
      if (isKubernetesError(error, 'not-found')) return undefined;
      throw error;
    }
  }

  /**
   * Creates an object without content. Undefined when it is there already.
   * @throws KubernetesError `not-found` without the namespace; NodegapError `State.Gone` in one that
   * is being deleted.
   */
  async createEmpty(kind: ObjectKind, name: string, part: Part): Promise<StateObject | undefined> {
    const empty = { kind, name, part, uid: '', resourceVersion: '', mark: '', texts: {}, spec: {} };
    try {
      const body = bodyOf(this.namespace, { ...empty, raw: {} });
      return objectFrom(kind, await this.#send('POST', this.#path(kind), body));
    } catch (error) {
      if (isInLeavingNamespace(error)) throw leaving(this.namespace, error);
      if (!isKubernetesError(error, 'conflict')) throw error;
    }
    const there = await this.get(kind, name);
    if (there !== undefined && there.part !== part) throw this.#notOurs(there);
    return undefined;
  }

  /** Replaces exactly what was read. Undefined when it has changed or gone since. */
  async replace(object: StateObject): Promise<StateObject | undefined> {
    try {
      const body = bodyOf(this.namespace, object);
      const path = this.#path(object.kind, object.name);
      return objectFrom(object.kind, await this.#send('PUT', path, body));
    } catch (error) {
      if (isKubernetesError(error, 'conflict', 'not-found')) return undefined;
      throw error;
    }
  }

  /** Deletes exactly what was read. False when it has changed or gone since. */
  async remove({ kind, name, uid, resourceVersion }: StateObject): Promise<boolean> {
    try {
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: { uid, resourceVersion },
      };
      await this.#send('DELETE', this.#path(kind, name), body);
      return true;
    } catch (error) {
      if (isKubernetesError(error, 'conflict', 'not-found')) return false;
      throw error;
    }
  }

  async createNamespace(): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: this.namespace, labels: { 'app.kubernetes.io/part-of': 'nodegap' } },
    };
    try {
      await this.#send('POST', '/api/v1/namespaces', body);
    } catch (error) {
      if (!isKubernetesError(error, 'conflict')) throw error;
    }
  }

  async #list(kind: ObjectKind, labelSelector: string): Promise<StateObject[]> {
    const answer = await this.#send('GET', this.#path(kind), undefined, { labelSelector });
    const { items } = answer as { items?: unknown };
    if (!Array.isArray(items)) throw unreadable(this.#path(kind));
    return items.map((item) => objectFrom(kind, item));
  }

  #path(kind: ObjectKind, name?: string): string {
    const group = kind === 'lease' ? '/apis/coordination.k8s.io/v1' : '/api/v1';
    const plural = kind === 'lease' ? 'leases' : 'configmaps';
    const collection = `${group}/namespaces/${this.namespace}/${plural}`;
    return name === undefined ? collection : `${collection}/${name}`;
  }

  async #send(
    method: Method,
    path: string,
    body?: object,
    query: Record<string, string> = {},
  ): Promise<unknown> {
    const answer = await this.#transport.request({
      method,
      path,
      query,
      timeoutMs: TIMEOUT_MS,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    if (answer.status < 200 || answer.status > 299) throw errorFromAnswer({ method, path }, answer);
    try {
      return JSON.parse(answer.body.toString('utf8'));
    } catch {
      throw unreadable(path);
    }
  }

  #notOurs({ kind, name }: StateObject): NodegapError {
    const what = `${kind === 'lease' ? 'Lease' : 'ConfigMap'} ${this.namespace}/${name}`;
    return new NodegapError(
      'State.ForeignObject',
      `${what} is in the way: nodegap did not make it, or its labels were taken off`,
      {
        hint: `look at it with: kubectl -n ${this.namespace} get ${kind} ${name} -o yaml; put its labels back, or remove it`,
      },
    );
  }
}

/** Refused with 403, like a missing right, but with a cause that tells them apart. */
function isInLeavingNamespace(error: unknown): boolean {
  return error instanceof AnsweredError && hasCause(error.answer, 'NamespaceTerminating');
}

function leaving(namespace: string, cause: unknown): NodegapError {
  return new NodegapError('State.Gone', `namespace ${namespace} is being deleted`, {
    hint: 'wait until it is gone and run the command again, which makes a new one',
    cause,
  });
}

function unreadable(path: string): KubernetesError {
  return new KubernetesError('server', `the answer for ${path} is none of the Kubernetes API`, {
    status: 200,
  });
}

function bodyOf(namespace: string, object: StateObject): object {
  const { kind, name, part, mark, texts, spec, raw } = object;
  const {
    [markAnnotation]: _mark,
    [slotAnnotation]: _slot,
    ...others
  } = raw.metadata?.annotations ?? {};
  const annotations = {
    ...others,
    ...(mark === '' ? {} : { [markAnnotation]: mark }),
    ...(kind === 'lease' && texts.slot !== undefined ? { [slotAnnotation]: texts.slot } : {}),
  };
  const labels = {
    ...raw.metadata?.labels,
    'app.kubernetes.io/part-of': 'nodegap',
    [partLabel]: part,
    [objectLabel]: name,
  };
  return {
    ...raw,
    apiVersion: kind === 'lease' ? 'coordination.k8s.io/v1' : 'v1',
    kind: kind === 'lease' ? 'Lease' : 'ConfigMap',
    metadata: { ...raw.metadata, name, namespace, labels, annotations },
    ...(kind === 'lease' ? { spec } : { data: texts }),
  };
}

function objectFrom(kind: ObjectKind, raw: unknown): StateObject {
  const object = raw as RawObject;
  const { name, uid, resourceVersion, labels, annotations } = object.metadata ?? {};
  if (name === undefined || uid === undefined || resourceVersion === undefined) {
    throw unreadable(`a ${kind}`);
  }
  const slot = annotations?.[slotAnnotation];
  const leaseTexts: Record<string, string> = slot === undefined ? {} : { slot };
  return {
    kind,
    name,
    part: labels?.[partLabel] ?? '',
    uid,
    resourceVersion,
    mark: annotations?.[markAnnotation] ?? '',
    texts: kind === 'lease' ? leaseTexts : (object.data ?? {}),
    spec: kind === 'lease' ? (object.spec ?? {}) : {},
    raw: object,
  };
}
