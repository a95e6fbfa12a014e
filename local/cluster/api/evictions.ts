/** POST of an Eviction: reads the body, asks the rules, words the answer. */
import type { Pod } from '../../../lib/kubernetes/objects.ts';
import { evict } from '../eviction.ts';
import type { World } from '../world.ts';
import type { Json } from './json-patch.ts';
import { badRequest, type StatusBody, StatusError, wrongUid } from './status.ts';

interface Eviction {
  metadata?: { name?: string };
  deleteOptions?: {
    preconditions?: { uid?: string };
    gracePeriodSeconds?: number;
    dryRun?: string[];
  };
}

/** The body for 201; throws a StatusError for every refusal. */
export function answerEviction(world: World, pod: Pod, body: Json): StatusBody {
  const { metadata, deleteOptions } = (body ?? {}) as Eviction;
  if (metadata?.name !== pod.metadata.name) {
    throw badRequest('name in URL does not match name in Eviction object');
  }
  const { preconditions, gracePeriodSeconds, dryRun } = deleteOptions ?? {};
  const { uid, name } = pod.metadata;
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
    throw wrongUid({ resource: 'pods', group: '', name }, preconditions.uid, uid);
  }
  const verdict = evict(world, pod, {
    ...(gracePeriodSeconds === undefined ? {} : { graceSeconds: gracePeriodSeconds }),
    dryRun: dryRun?.includes('All') ?? false,
  });
  switch (verdict.kind) {
    case 'accepted':
      return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
    case 'budget': {
      const { message, retryAfterSeconds } = verdict;
      throw new StatusError(
        429,
        'TooManyRequests',
        "Cannot evict pod as it would violate the pod's disruption budget.",
        {
          details: { causes: [{ reason: 'DisruptionBudget', message }] },
          ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
        },
      );
    }
    case 'several-budgets':
      throw new StatusError(
        500,
        undefined,
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      );
  }
}
