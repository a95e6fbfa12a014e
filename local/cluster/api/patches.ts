/** PATCH of a stored object: JSON patch or merge patch, fences, validation, then one change. */
import type { ObjectMeta, Taint } from '../../../lib/kubernetes/objects.ts';
import { infoOf, type Kinds, type Resource } from '../resources.ts';
import type { Store } from '../store.ts';
import {
  applyJsonPatch,
  applyMergePatch,
  type Json,
  MalformedPatch,
  PatchMismatch,
  sameJson,
} from './json-patch.ts';
import {
  badRequest,
  invalid,
  patchDoesNotApply,
  StatusError,
  type Subject,
  staleObject,
} from './status.ts';

/** The resources that may be patched. */
export type Patchable = Extract<Resource, 'nodes' | 'events'>;

interface Patched {
  metadata: ObjectMeta;
  spec?: Kinds['nodes']['spec'];
  [field: string]: unknown;
}

/** Changes the live object as the patch says and returns it; throws a StatusError otherwise. */
export function patchObject<R extends Patchable>(
  store: Store,
  resource: R,
  object: Kinds[R],
  contentType: string,
  patch: Json,
): Kinds[R] {
  const entry = infoOf(resource);
  const subject: Subject = { resource, group: entry.group, name: object.metadata.name };
  const before = JSON.parse(JSON.stringify(object)) as Json;
  const after = apply(before, contentType, patch);
  const patched = after as unknown as Patched;
  const { metadata } = patched;
  if (metadata.resourceVersion && metadata.resourceVersion !== object.metadata.resourceVersion) {
    throw staleObject(subject);
  }
  for (const field of ['uid', 'name', 'namespace'] as const) {
    if (metadata[field] === object.metadata[field]) continue;
    throw invalid(entry.kind, subject, [
      { field: `metadata.${field}`, message: 'Invalid value: field is immutable' },
    ]);
  }
  if (resource === 'nodes') {
    validateTaints(entry.kind, subject, patched.spec?.taints ?? []);
    commitNode(store, object as Kinds['nodes'], patched, before);
  } else {
    commitEvent(store, object as Kinds['events'], patched, before);
  }
  return object;
}

function apply(document: Json, contentType: string, patch: Json): Json {
  switch (contentType) {
    case 'application/json-patch+json':
      try {
        return applyJsonPatch(document, patch);
      } catch (error) {
        if (error instanceof PatchMismatch) throw patchDoesNotApply();
        if (error instanceof MalformedPatch) throw badRequest(error.message);
        throw error;
      }
    case 'application/merge-patch+json':
      if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
        throw badRequest('a merge patch is an object');
      }
      return applyMergePatch(document, patch);
    default:
      throw new StatusError(
        415,
        'UnsupportedMediaType',
        `the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json`,
      );
  }
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function validateTaints(kind: string, subject: Subject, taints: Taint[]): void {
  const seen = new Set<string>();
  const causes: { field: string; message: string }[] = [];
  for (const [index, taint] of taints.entries()) {
    const field = `spec.taints[${index}]`;
    if (!taint.key) causes.push({ field: `${field}.key`, message: 'Required value' });
    if (!effects.includes(taint.effect)) {
      causes.push({ field: `${field}.effect`, message: 'Unsupported value' });
    }
    const identity = `${taint.key}:${taint.effect}`;
    if (seen.has(identity)) {
      causes.push({
        field,
        message: 'Duplicate value: taints must be unique by key and effect pair',
      });
    }
    seen.add(identity);
  }
  if (causes.length > 0) throw invalid(kind, subject, causes);
}

/** Takes over what a client may change; status and the server's own metadata stay. */
function commitNode(store: Store, node: Kinds['nodes'], patched: Patched, before: Json): void {
  const { metadata } = node;
  const providerID = patched.spec?.providerID;
  node.spec = {
    ...(providerID === undefined || providerID === null ? {} : { providerID }),
    // Zero values are left out of what the server stores.
    ...(patched.spec?.unschedulable ? { unschedulable: true } : {}),
    ...(patched.spec?.taints?.length ? { taints: patched.spec.taints } : {}),
  };
  for (const field of ['labels', 'annotations'] as const) {
    const map = patched.metadata[field];
    if (map && Object.keys(map).length > 0) metadata[field] = map;
    else delete metadata[field];
  }
  const { finalizers } = patched.metadata;
  if (finalizers?.length) metadata.finalizers = finalizers;
  else delete metadata.finalizers;
  const earlier = before as unknown as Kinds['nodes'];
  if (metadata.deletionTimestamp !== undefined && metadata.finalizers === undefined) {
    store.remove('nodes', node);
  } else if (!same(earlier.spec, node.spec)) {
    store.changed('nodes', node, 'spec');
  } else if (!same(earlier.metadata, metadata)) {
    store.changed('nodes', node, 'metadata');
  }
}

function commitEvent(store: Store, event: Kinds['events'], patched: Patched, before: Json): void {
  const { metadata: _fixed, ...fields } = patched;
  const metadata = event.metadata;
  for (const key of Object.keys(event)) delete (event as unknown as Record<string, unknown>)[key];
  Object.assign(event, fields, { metadata });
  if (!same(before, event)) store.changed('events', event, 'status');
}

function same(a: unknown, b: unknown): boolean {
  return sameJson(JSON.parse(JSON.stringify(a)) as Json, JSON.parse(JSON.stringify(b)) as Json);
}
