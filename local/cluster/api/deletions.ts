/** DELETE of one object, with its preconditions and, for pods, the grace. */
import { infoOf, type Kinds } from '../resources.ts';
import type { Store } from '../store.ts';
import type { Json } from './json-patch.ts';
import { StatusError, wrongUid } from './status.ts';

export type Deletable = 'nodeclaims' | 'pods' | 'configmaps' | 'leases';

interface DeleteOptions {
  preconditions?: { uid?: string; resourceVersion?: string };
  gracePeriodSeconds?: number;
}

/** Throws a StatusError when a precondition does not hold. */
export function deleteObject<R extends Deletable>(
  store: Store,
  resource: R,
  object: Kinds[R],
  body: Json,
): void {
  const { preconditions = {}, gracePeriodSeconds } = body as DeleteOptions;
  const { name, uid, resourceVersion } = object.metadata;
  if (preconditions.uid !== undefined && preconditions.uid !== uid) {
    throw wrongUid({ resource, group: infoOf(resource).group, name }, preconditions.uid, uid);
  }
  const wanted = preconditions.resourceVersion;
  if (wanted !== undefined && wanted !== resourceVersion) {
    throw new StatusError(
      409,
      'Conflict',
      `Operation cannot be fulfilled on ${resource} "${name}": the ResourceVersion in the precondition (${wanted}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`,
    );
  }
  const { nodeName, terminationGracePeriodSeconds = 30 } =
    resource === 'pods' ? (object as Kinds['pods']).spec : {};
  const own = nodeName === undefined ? 0 : terminationGracePeriodSeconds;
  store.requestDeletion(resource, object, gracePeriodSeconds ?? own);
}
