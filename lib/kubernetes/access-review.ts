/**
 * Asks the API server what its caller may do, by SelfSubjectAccessReview (authorization.k8s.io/v1).
 *
 * Each right is a review of its own: a review goes through the same authorizers as the request
 * itself. A SelfSubjectRulesReview would be one request for all, but lists only what authorizers can
 * enumerate, and is incomplete where a webhook decides.
 */
import { isKubernetesError } from '../errors.ts';
import { cutTo, printable } from '../printable.ts';
import { errorFromAnswer } from './errors.ts';
import type { Transport } from './transport.ts';

const apiVersion = 'authorization.k8s.io/v1';
const path = `/apis/${apiVersion}/selfsubjectaccessreviews`;
const maxReason = 300;

/** One verb on one resource; in all namespaces, and of every name unless one is given. */
export interface AccessRight {
  verb: string;
  /** Empty for the core group. */
  group: string;
  /** In the plural. */
  resource: string;
  subresource?: string;
  name?: string;
}

/** Whether the API server would let its caller do something. */
export type AccessAnswer =
  | { kind: 'allowed' }
  /** `reason` is what the server says about it; often nothing. */
  | { kind: 'denied'; reason: string }
  /** The cluster does not answer that question. */
  | { kind: 'unknown'; message: string };

export interface AccessReviewer {
  /** Whether the caller may do that, for every request that needs this right. Changes nothing. */
  reviewAccess(right: AccessRight): Promise<AccessAnswer>;
}

/** Makes the reviewer of what the identity of `transport` may do. */
export function createAccessReviewer(transport: Transport): AccessReviewer {
  async function reviewAccess(right: AccessRight): Promise<AccessAnswer> {
    const line = { method: 'POST', path } as const;
    const answer = await transport.request({
      ...line,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        apiVersion,
        kind: 'SelfSubjectAccessReview',
        // Without a namespace it is about all of them.
        spec: { resourceAttributes: right },
      }),
    });
    if (answer.status >= 200 && answer.status <= 299) return readReview(answer.body);
    const error = errorFromAnswer(line, answer);
    if (!isKubernetesError(error, 'forbidden', 'not-found', 'invalid')) throw error;
    return { kind: 'unknown', message: error.message };
  }
  return { reviewAccess };
}

/**
 * Only `allowed` counts: without it the API server refuses the request, whether an authorizer denies
 * it, none has an opinion, or one failed (`evaluationError`).
 */
function readReview(body: Buffer): AccessAnswer {
  const status = statusIn(body);
  if (typeof status?.allowed !== 'boolean') {
    return { kind: 'unknown', message: `the answer to POST ${path} has no status.allowed` };
  }
  if (status.allowed) return { kind: 'allowed' };
  const said = [status.reason, status.evaluationError].filter(
    (text): text is string => typeof text === 'string' && text !== '',
  );
  return { kind: 'denied', reason: cutTo(printable(said.join('; ')), maxReason) };
}

function statusIn(
  body: Buffer,
): { allowed?: unknown; reason?: unknown; evaluationError?: unknown } | undefined {
  try {
    const review = JSON.parse(body.toString('utf8')) as { status?: object } | null;
    return review?.status;
  } catch {
    return undefined;
  }
}
