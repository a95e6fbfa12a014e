/** POST of a SelfSubjectAccessReview: it stores nothing and answers what the caller may do. */
import type { Json } from './json-patch.ts';
import { badRequest } from './status.ts';

const reviewPath = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

interface Review {
  spec?: { resourceAttributes?: { verb?: string; resource?: string; subresource?: string } };
}

export function isAccessReview(method: string, path: string): boolean {
  return method === 'POST' && path === reviewPath;
}

/** The body for 201; `may` knows what the caller may do. Throws a StatusError for another body. */
export function answerAccessReview(
  body: Json,
  may: (verb: string, target: string) => boolean,
): object {
  const { spec } = (body ?? {}) as Review;
  const { verb, resource, subresource } = spec?.resourceAttributes ?? {};
  if (verb === undefined || resource === undefined) {
    throw badRequest('spec.resourceAttributes names no verb and resource');
  }
  const target = subresource === undefined ? resource : `${resource}/${subresource}`;
  return {
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec,
    status: { allowed: may(verb, target) },
  };
}
