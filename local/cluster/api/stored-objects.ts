/**
 * Objects that no controller of the simulation looks at, only clients: ConfigMaps, Leases and
 * Namespaces. They are created, replaced on condition of their resourceVersion, and deleted.
 */
import type { ObjectMeta } from '../../../lib/kubernetes/objects.ts';
import { infoOf, type Kinds } from '../resources.ts';
import type { Store } from '../store.ts';
import { type Json, sameJson } from './json-patch.ts';
import {
  alreadyExists,
  badRequest,
  invalid,
  notFound,
  type Subject,
  staleObject,
} from './status.ts';

export type Stored = 'configmaps' | 'leases' | 'namespaces';

interface Body {
  metadata?: Partial<ObjectMeta>;
  data?: unknown;
  spec?: Record<string, unknown>;
}

/** There from the start, without being stored. */
const builtIn = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
/** `metav1.MicroTime` is read with the layout `2006-01-02T15:04:05.000000Z07:00`. */
const microTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)$/;
const subdomain = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const dataKey = /^[-._a-zA-Z0-9]{1,253}$/;
const maxBytes = 1_048_576;

/** POST. Throws a StatusError when the name is taken or the object is none. */
export function createStored<R extends Stored>(
  store: Store,
  resource: R,
  namespace: string | undefined,
  body: Json,
): Kinds[R] {
  const { metadata = {}, ...fields } = fieldsOf(body as Body);
  const subject = subjectOf(resource, metadata.name ?? '');
  if (namespace !== undefined && !namespaceExists(store, namespace)) {
    throw notFound(subjectOf('namespaces', namespace));
  }
  validate(resource, subject, { metadata, ...fields });
  const key = namespace === undefined ? subject.name : `${namespace}/${subject.name}`;
  if (store.get(resource, key) !== undefined) throw alreadyExists(subject);
  const { uid: _uid, resourceVersion: _version, ...given } = metadata;
  const own = namespace === undefined ? {} : { namespace };
  return store.create(resource, { ...fields, metadata: { ...given, ...own } } as never);
}

/** PUT of an object that is there. One that changes nothing keeps its resourceVersion. */
export function replaceStored<R extends Stored>(
  store: Store,
  resource: R,
  object: Kinds[R],
  body: Json,
): Kinds[R] {
  const { metadata = {}, ...fields } = fieldsOf(body as Body);
  const stored = object as { metadata: ObjectMeta };
  const subject = subjectOf(resource, stored.metadata.name);
  if (metadata.uid !== undefined && metadata.uid !== stored.metadata.uid)
    throw staleObject(subject);
  const wanted = metadata.resourceVersion ?? '';
  if (wanted !== '' && wanted !== stored.metadata.resourceVersion) throw staleObject(subject);
  if (metadata.name !== stored.metadata.name) {
    throw badRequest('the name of the object does not match the name on the URL');
  }
  validate(resource, subject, { metadata, ...fields });
  const before = JSON.parse(JSON.stringify(object)) as Json;
  for (const field of Object.keys(object)) {
    if (field !== 'metadata') delete (object as unknown as Record<string, unknown>)[field];
  }
  Object.assign(object, fields);
  for (const field of ['labels', 'annotations'] as const) {
    const map = metadata[field];
    if (map && Object.keys(map).length > 0) stored.metadata[field] = map;
    else delete stored.metadata[field];
  }
  if (!sameJson(before, JSON.parse(JSON.stringify(object)) as Json)) {
    store.changed(resource, object, 'metadata');
  }
  return object;
}

function fieldsOf({ metadata, ...rest }: Body): Body {
  const { kind: _kind, apiVersion: _version, ...fields } = rest as Record<string, unknown>;
  return { ...(metadata === undefined ? {} : { metadata }), ...fields };
}

function namespaceExists(store: Store, name: string): boolean {
  return builtIn.includes(name) || store.get('namespaces', name) !== undefined;
}

function validate(resource: Stored, subject: Subject, body: Body): void {
  const { kind } = infoOf(resource);
  const refuse = (field: string, message: string) => invalid(kind, subject, [{ field, message }]);
  if (!subdomain.test(subject.name)) throw refuse('metadata.name', 'Invalid value');
  for (const value of Object.values(body.metadata?.labels ?? {})) {
    if (!/^$|^[a-zA-Z0-9]([-._a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$/.test(value)) {
      throw refuse('metadata.labels', `Invalid value: "${value}"`);
    }
  }
  if (resource === 'configmaps') validateData(body.data ?? {}, refuse);
  if (resource === 'leases') validateLease(body.spec ?? {}, refuse);
}

function validateData(data: unknown, refuse: (field: string, message: string) => Error): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(data as Record<string, unknown>)) {
    if (!dataKey.test(key)) throw refuse('data', `Invalid value: "${key}"`);
    if (typeof value !== 'string') throw badRequest(`data.${key} is not a string`);
    bytes += Buffer.byteLength(value);
  }
  if (bytes > maxBytes) throw refuse('', `Too long: may not be more than ${maxBytes} bytes`);
}

function validateLease(
  { renewTime, acquireTime, leaseDurationSeconds }: Record<string, unknown>,
  refuse: (field: string, message: string) => Error,
): void {
  for (const time of [renewTime, acquireTime]) {
    if (time === undefined || time === null) continue;
    if (typeof time === 'string' && microTime.test(time)) continue;
    throw badRequest(
      `Lease in version "v1" cannot be handled as a Lease: parsing time "${String(time)}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse`,
    );
  }
  if (typeof leaseDurationSeconds === 'number' && leaseDurationSeconds <= 0) {
    throw refuse('spec.leaseDurationSeconds', 'must be greater than 0');
  }
}

function subjectOf(resource: Stored, name: string): Subject {
  return { resource, group: infoOf(resource).group, name };
}
