import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { json, text } from 'node:stream/consumers';

/** Any Kubernetes object, as the API server's JSON has it. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    resourceVersion?: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

/** The API server's "no", with its HTTP status and reason. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(`${status} ${reason}: ${message}`);
    this.status = status;
    this.reason = reason;
  }
}

export interface KubeClientOptions {
  server: string;
  ca: string;
  token: string;
}

export type PatchType = 'merge' | 'strategic' | 'json';

const PATCH_TYPES: Record<PatchType, string> = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};

/**
 * A plain API client for what tests do themselves. It shares no code with the project's transport,
 * so that a test never proves a mistake with the same mistake.
 */
export class KubeClient {
  readonly #options: KubeClientOptions;
  readonly #agent: Agent;

  constructor(options: KubeClientOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, ca: options.ca });
  }

  /** Reads an object or a list by its path, e.g. `/api/v1/nodes`. */
  get<T>(path: string): Promise<T> {
    return this.#json('GET', path);
  }

  /** Like `get`, but `undefined` when there is no such object. */
  async find<T>(path: string): Promise<T | undefined> {
    try {
      return await this.get<T>(path);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** The items of a list. */
  async list<T>(path: string): Promise<T[]> {
    return (await this.get<{ items: T[] }>(path)).items;
  }

  create<T>(path: string, body: unknown): Promise<T> {
    return this.#json('POST', path, body, 'application/json');
  }

  /** Replaces an object as a whole; refused when its `resourceVersion` is not the newest. */
  update<T>(path: string, body: unknown): Promise<T> {
    return this.#json('PUT', path, body, 'application/json');
  }

  patch<T>(path: string, body: unknown, type: PatchType = 'merge'): Promise<T> {
    return this.#json('PATCH', path, body, PATCH_TYPES[type]);
  }

  delete<T>(path: string, options?: Record<string, unknown>): Promise<T> {
    return this.#json('DELETE', path, options, 'application/json');
  }

  /** Creates or changes an object by server-side apply. */
  apply<T>(object: KubeObject): Promise<T> {
    const path = `${pathOf(object)}?fieldManager=nodegap-e2e&force=true`;
    return this.#json('PATCH', path, object, 'application/apply-patch+yaml');
  }

  /** The raw answer, for watches. It throws on anything but success. */
  async stream(path: string, signal?: AbortSignal): Promise<IncomingMessage> {
    const response = await this.#send('GET', path, undefined, undefined, signal);
    if (response.statusCode === 200) return response;
    throw await errorOf(response);
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  async #json<T>(method: string, path: string, body?: unknown, type?: string): Promise<T> {
    const response = await this.#send(method, path, body, type);
    if ((response.statusCode ?? 500) >= 300) throw await errorOf(response);
    return (await json(response)) as T;
  }

  #send(
    method: string,
    path: string,
    body?: unknown,
    type?: string,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const call = request(
        new URL(path, this.#options.server),
        {
          method,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.#options.token}`,
            accept: 'application/json',
            ...(payload === undefined
              ? {}
              : {
                  'content-type': type ?? 'application/json',
                  // Node does not say by itself how long the body of a DELETE is.
                  'content-length': Buffer.byteLength(payload),
                }),
          },
          ...(signal === undefined ? {} : { signal }),
        },
        resolve,
      );
      call.on('error', reject);
      call.end(payload);
    });
  }
}

async function errorOf(response: IncomingMessage): Promise<ApiError> {
  const status = response.statusCode ?? 0;
  const body = await text(response);
  if (!response.headers['content-type']?.startsWith('application/json')) {
    return new ApiError(status, 'Unknown', body);
  }
  const { reason, message } = JSON.parse(body) as { reason?: string; message?: string };
  return new ApiError(status, reason ?? 'Unknown', message ?? body);
}

/** The API path of an object, by the usual English plural of its kind. */
export function pathOf(object: {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}): string {
  const { name, namespace } = object.metadata;
  const root = object.apiVersion.includes('/') ? 'apis' : 'api';
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return `/${root}/${object.apiVersion}${scope}/${pluralOf(object.kind)}/${name}`;
}

function pluralOf(kind: string): string {
  const singular = kind.toLowerCase();
  if (singular.endsWith('s')) return `${singular}es`;
  if (singular.endsWith('y')) return `${singular.slice(0, -1)}ies`;
  return `${singular}s`;
}
