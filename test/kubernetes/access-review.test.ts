import { describe, expect, it, onTestFinished } from 'vitest';
import { createAccessReviewer } from '../../lib/kubernetes/access-review.ts';
import { createTransport } from '../../lib/kubernetes/transport.ts';
import { type Reply, startLoopback, status, thrown } from './loopback.ts';

async function reviewerOf(reply: Reply) {
  const server = await startLoopback(() => reply);
  const transport = createTransport({ server: server.url });
  onTestFinished(async () => {
    transport.close();
    await server.close();
  });
  return { server, ...createAccessReviewer(transport) };
}

const evict = { verb: 'create', group: '', resource: 'pods', subresource: 'eviction' };
const answered = (status: object): Reply => ({ status: 201, body: { status } });

describe('reviewAccess', () => {
  it('asks for one right of the caller, in all namespaces', async () => {
    const { server, reviewAccess } = await reviewerOf(answered({ allowed: true }));
    expect(await reviewAccess(evict)).toEqual({ kind: 'allowed' });
    expect(server.asked).toHaveLength(1);
    expect(server.asked[0]).toMatchObject({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    });
    expect(JSON.parse(server.asked[0]?.body ?? '')).toEqual({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: evict },
    });
  });

  it.each<[string, object, string]>([
    ['nobody allows it', { allowed: false }, ''],
    ['an authorizer denies it', { allowed: false, denied: true, reason: 'no' }, 'no'],
    [
      'an authorizer failed',
      { allowed: false, reason: 'no', evaluationError: 'webhook away' },
      'no; webhook away',
    ],
    ['the reason would steer a terminal', { allowed: false, reason: 'a\u001bb' }, 'a\\u001bb'],
  ])('is denied when %s', async (_when, given, reason) => {
    const { reviewAccess } = await reviewerOf(answered(given));
    expect(await reviewAccess(evict)).toEqual({ kind: 'denied', reason });
  });

  it('is allowed whatever else an authorizer that failed says', async () => {
    const { reviewAccess } = await reviewerOf(
      answered({ allowed: true, evaluationError: 'role not found' }),
    );
    expect(await reviewAccess(evict)).toEqual({ kind: 'allowed' });
  });

  it.each<[string, Reply]>([
    ['may not be asked', status(403, 'Forbidden', 'not even that')],
    ['is not served', status(404, 'NotFound', 'no such path')],
    ['is not understood', status(400, 'BadRequest', 'what?')],
    ['has another answer', { status: 201, body: { status: {} } }],
    ['has no answer', { status: 201, body: null }],
  ])('is unknown when it %s', async (_when, reply) => {
    const { reviewAccess } = await reviewerOf(reply);
    expect(await reviewAccess(evict)).toMatchObject({
      kind: 'unknown',
      message: expect.stringContaining('selfsubjectaccessreviews'),
    });
  });

  it.each([401, 500])('throws a %i, which says nothing about rights', async (code) => {
    const { reviewAccess } = await reviewerOf(status(code, undefined, 'later'));
    expect(await thrown(() => reviewAccess(evict))).toMatchObject({ status: code });
  });
});
