/**
 * The simulated API server without its HTTP: one request in, one answer out. Every write that was
 * asked for, also a refused one, is in the audit.
 */
import { isoTime } from '../../../lib/clock.ts';
import { apiVersionOf, infoOf, type Kinds, type Resource } from '../resources.ts';
import type { World } from '../world.ts';
import { answerAccessReview, isAccessReview } from './access-reviews.ts';
import { type Deletable, deleteObject } from './deletions.ts';
import { answerEviction } from './evictions.ts';
import type { Json } from './json-patch.ts';
import { type ListRequest, Lists } from './lists.ts';
import { leaseNameIn, leaseOf } from './node-leases.ts';
import { type Patchable, patchObject } from './patches.ts';
import { discovery, type Route, routeOf, servedVersions } from './routes.ts';
import {
  alreadyExists,
  badRequest,
  invalid,
  noSuchPath,
  notFound,
  StatusError,
  type Subject,
} from './status.ts';
import { createStored, replaceStored, type Stored } from './stored-objects.ts';

export interface ApiRequest {
  method: string;
  /** Without the query. */
  path: string;
  query: URLSearchParams;
  contentType: string;
  /** Empty when there is none. */
  body: string;
  /** Who asks, where the server knows identities. */
  identity: string | undefined;
}

export interface ApiAnswer {
  status: number;
  body: unknown;
  retryAfterSeconds?: number;
}

/** One request that was to change something. */
export interface AuditEntry {
  /** ISO 8601, virtual time. */
  at: string;
  method: string;
  path: string;
  identity?: string;
  /** Undefined for an empty or unreadable body. */
  body: Json | undefined;
  /** What it was answered with. */
  status: number;
}

/** Whether the identity may use the verb on `pods`, `pods/eviction` or another resource. */
export type Authorizer = (identity: string | undefined, verb: string, resource: string) => boolean;

export class ApiServer {
  readonly audit: AuditEntry[] = [];
  readonly #world: World;
  readonly #lists: Lists;
  readonly #versions: string[];
  readonly #authorize: Authorizer;

  constructor(world: World, options: { karpenter: boolean; authorize: Authorizer }) {
    this.#world = world;
    this.#lists = new Lists(world);
    this.#versions = servedVersions(options.karpenter);
    this.#authorize = options.authorize;
  }

  /** Carries out one request at the world's present time. Never throws. */
  handle(request: ApiRequest): ApiAnswer {
    let answer: ApiAnswer;
    try {
      answer = this.#dispatch(request);
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      const { body, retryAfterSeconds } = error;
      answer = {
        status: body.code,
        body,
        ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      };
    }
    this.record(request, answer.status);
    return answer;
  }

  /** What a request to watch is about; undefined when it is none. Throws a StatusError. */
  watchOf(request: ApiRequest): ListRequest<Resource> | undefined {
    const { method, path, query } = request;
    if (method !== 'GET' || query.get('watch') !== 'true') return undefined;
    const route = routeOf(path, this.#versions);
    if (route === undefined || route.subresource !== undefined) throw noSuchPath();
    if (route.name !== undefined) throw notAllowed();
    this.#permit(request, 'watch', route.resource);
    return { resource: route.resource, namespace: route.namespace, query };
  }

  /** Notes a write; the HTTP edge calls it for one that it refuses itself. */
  record(request: ApiRequest, status: number): void {
    if (request.method === 'GET' || isAccessReview(request.method, request.path)) return;
    this.audit.push({
      at: isoTime(this.#world.timeline.now),
      method: request.method,
      path: request.path,
      ...(request.identity === undefined ? {} : { identity: request.identity }),
      body: tryParse(request.body),
      status,
    });
  }

  #dispatch(request: ApiRequest): ApiAnswer {
    const { method, path } = request;
    if (method === 'GET') {
      if (/^\/(livez|readyz|healthz)$/.test(path)) return { status: 200, body: 'ok' };
      const found = discovery(path, this.#versions);
      if (found !== undefined) return { status: 200, body: found };
    }
    const lease = leaseNameIn(method, path);
    if (lease !== undefined) return { status: 200, body: leaseOf(this.#world, lease) };
    if (isAccessReview(method, path)) {
      const may = this.#authorize.bind(undefined, request.identity);
      return { status: 201, body: answerAccessReview(parse(request.body), may) };
    }
    const route = routeOf(path, this.#versions);
    if (route === undefined) throw noSuchPath();
    const { resource, name, subresource } = route;
    const target = subresource === undefined ? resource : `${resource}/${subresource}`;
    const verb = verbOf(method, name);
    if (verb === undefined) throw notAllowed();
    this.#permit(request, verb, target);
    switch (`${verb} ${target}`) {
      case 'patch nodes':
      case 'patch events':
        return this.#patch(route, request);
      case 'create pods/eviction':
        return {
          status: 201,
          body: answerEviction(
            this.#world,
            this.#find({ ...route, resource: 'pods' }),
            parse(request.body),
          ),
        };
      case 'create events':
        return this.#createEvent(route, request);
      case 'create configmaps':
      case 'create leases':
      case 'create namespaces':
      case 'update configmaps':
      case 'update leases':
        return this.#storeObject(route, request);
      case 'delete configmaps':
      case 'delete leases':
      case 'delete nodeclaims':
      case 'delete pods':
        return this.#delete(route, resource as Deletable, request);
      default:
        if (subresource !== undefined) throw noSuchPath();
        if (verb === 'get') return ok(resource, this.#find(route));
        if (verb === 'list') return this.#list(route, request);
        throw notAllowed();
    }
  }

  #permit(request: ApiRequest, verb: string, target: string): void {
    if (this.#authorize(request.identity, verb, target)) return;
    const user = request.identity ?? 'system:anonymous';
    const group = infoOf(target.split('/')[0] as Resource).group;
    throw new StatusError(
      403,
      'Forbidden',
      `${target.split('/')[0]} is forbidden: User "${user}" cannot ${verb} resource "${target}" in API group "${group}" at the cluster scope`,
      { details: { kind: target, ...(group === '' ? {} : { group }) } },
    );
  }

  #list(route: Route, request: ApiRequest): ApiAnswer {
    const { resource, namespace } = route;
    if (resource === 'events') this.#world.recorder.expire();
    return { status: 200, body: this.#lists.page({ resource, namespace, query: request.query }) };
  }

  #find<R extends Resource>(route: Route & { resource: R }): Kinds[R] {
    const { resource, namespace, name = '' } = route;
    const key = namespace === undefined ? name : `${namespace}/${name}`;
    const object = this.#world.store.get(resource, key);
    if (object === undefined) throw notFound(subjectOf(resource, name));
    return object;
  }

  #patch(route: Route, request: ApiRequest): ApiAnswer {
    const resource = route.resource as Patchable;
    const object = this.#find({ ...route, resource });
    const patch = parse(request.body);
    const { store } = this.#world;
    return ok(resource, patchObject(store, resource, object, request.contentType, patch));
  }

  #createEvent(route: Route, request: ApiRequest): ApiAnswer {
    const body = parse(request.body) as unknown as Kinds['events'];
    const { metadata, involvedObject } = body;
    const namespace = route.namespace ?? '';
    const subject = subjectOf('events', metadata?.name ?? '');
    // An object without a namespace has its Events in `default`.
    if ((involvedObject?.namespace ?? 'default') !== namespace) {
      throw invalid('Event', subject, [
        { field: 'involvedObject.namespace', message: 'does not match event.namespace' },
      ]);
    }
    if (this.#world.store.get('events', `${namespace}/${metadata.name}`) !== undefined) {
      throw alreadyExists(subject);
    }
    const { kind: _kind, apiVersion: _version, ...fields } = body as Kinds['events'] & ApiObject;
    const event = this.#world.store.create('events', {
      ...fields,
      metadata: { ...metadata, namespace },
    });
    return { ...ok('events', event), status: 201 };
  }

  #storeObject(route: Route, request: ApiRequest): ApiAnswer {
    const resource = route.resource as Stored;
    const body = parse(request.body);
    const { store } = this.#world;
    if (request.method === 'PUT') {
      return ok(resource, replaceStored(store, resource, this.#find({ ...route, resource }), body));
    }
    return { ...ok(resource, createStored(store, resource, route.namespace, body)), status: 201 };
  }

  #delete(route: Route, resource: Deletable, request: ApiRequest): ApiAnswer {
    const object = this.#find({ ...route, resource });
    deleteObject(
      this.#world.store,
      resource,
      object,
      request.body === '' ? {} : parse(request.body),
    );
    return ok(resource, object);
  }
}

interface ApiObject {
  kind?: string;
  apiVersion?: string;
}

function verbOf(method: string, name: string | undefined): string | undefined {
  switch (method) {
    case 'GET':
      return name === undefined ? 'list' : 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === undefined ? 'deletecollection' : 'delete';
    default:
      return undefined;
  }
}

function notAllowed(): StatusError {
  return new StatusError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
  );
}

function subjectOf(resource: Resource, name: string): Subject {
  return { resource, group: infoOf(resource).group, name };
}

function ok<R extends Resource>(resource: R, object: Kinds[R]): ApiAnswer {
  const entry = infoOf(resource);
  return { status: 200, body: { kind: entry.kind, apiVersion: apiVersionOf(entry), ...object } };
}

function parse(body: string): Json {
  const parsed = tryParse(body);
  if (parsed === undefined) throw badRequest('the body of the request is not JSON');
  return parsed;
}

function tryParse(body: string): Json | undefined {
  try {
    return JSON.parse(body) as Json;
  } catch {
    return undefined;
  }
}
