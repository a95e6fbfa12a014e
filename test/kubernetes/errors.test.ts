import { describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import {
  deniedAccess,
  errorFromAnswer,
  messageWithRemedy,
  parseStatus,
} from '../../lib/kubernetes/errors.ts';

const request = { method: 'GET', path: '/api/v1/nodes' };

function answer(status: number, body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, headers, body: Buffer.from(text) };
}

const budgetCause = { causes: [{ reason: 'DisruptionBudget', message: 'needs 1' }] };

describe('errorFromAnswer', () => {
  it.each([
    [400, {}, 'invalid'],
    [401, {}, 'unauthorised'],
    [403, {}, 'forbidden'],
    [404, {}, 'not-found'],
    [409, {}, 'conflict'],
    [410, {}, 'gone'],
    [415, {}, 'invalid'],
    [422, {}, 'invalid'],
    [429, {}, 'throttled'],
    [429, { details: budgetCause }, 'disruption-budget'],
    [500, {}, 'server'],
    [503, {}, 'server'],
    [302, {}, 'server'],
  ])('takes %i with %j for %s', (code, body, kind) => {
    const error = errorFromAnswer(request, answer(code, body));
    expect(error).toMatchObject({ kind, status: code, code: `Kubernetes.${kind}` });
    expect(error.name).toBe(`Kubernetes.${kind}`);
  });

  it('names verb and resource of a denied access and the command that prints the roles', () => {
    const message =
      'nodeclaims.karpenter.sh is forbidden: User "u" cannot list resource "nodeclaims" in API group "karpenter.sh" at the cluster scope';
    const error = errorFromAnswer(request, answer(403, { message, reason: 'Forbidden' }));
    expect(error.message).toBe(`not allowed to list nodeclaims.karpenter.sh: ${message}`);
    expect(error.hint).toContain('nodegap rbac');
  });

  it('does not blame RBAC for another refusal', () => {
    const error = errorFromAnswer(request, answer(403, { message: 'admission said no' }));
    expect(error.hint).toBeUndefined();
    expect(error.message).toBe('GET /api/v1/nodes was answered with 403: admission said no');
  });

  it('carries the seconds of Retry-After', () => {
    expect(errorFromAnswer(request, answer(429, {}, { 'retry-after': '7' }))).toMatchObject({
      retryAfterSeconds: 7,
    });
    expect(
      errorFromAnswer(request, answer(429, {}, { 'retry-after': 'Mon, 1 Jan' })).retryAfterSeconds,
    ).toBeUndefined();
  });

  it('keeps the first line of a page that some proxy sent', () => {
    const error = errorFromAnswer(request, answer(502, '<html>bad gateway\n<body>more</body>'));
    expect(error).toMatchObject({ kind: 'server' });
    expect(error.message).toBe('GET /api/v1/nodes was answered with 502: <html>bad gateway');
  });

  it('shortens an endless message', () => {
    const error = errorFromAnswer(request, answer(500, { message: 'x'.repeat(5_000) }));
    expect(error.message.length).toBeLessThan(600);
  });
});

describe('parseStatus', () => {
  it('copes with bodies that are no Status', () => {
    for (const body of ['', 'null', '[]', '3', '{"details":null}', '{"details":{"causes":[1]}}']) {
      expect(parseStatus(Buffer.from(body)).causes).toEqual([]);
    }
  });
});

describe('deniedAccess', () => {
  it('leaves the core group without a name', () => {
    expect(
      deniedAccess(
        'User "u" cannot create resource "pods/eviction" in API group "" in the namespace "t"',
      ),
    ).toEqual({ verb: 'create', resource: 'pods/eviction' });
    expect(deniedAccess('quota exceeded')).toBeUndefined();
  });
});

describe('messageWithRemedy', () => {
  it('says what to apply when RBAC refused, and nothing of it otherwise', () => {
    const refused = new KubernetesError('forbidden', 'not allowed to list nodes: no');
    expect(messageWithRemedy(refused)).toBe(
      'not allowed to list nodes: no (apply what `nodegap rbac` prints)',
    );
    for (const other of [
      new KubernetesError('forbidden', 'PATCH /x was answered with 403: a policy'),
      new KubernetesError('server', 'not allowed to say'),
    ]) {
      expect(messageWithRemedy(other)).toBe(other.message);
    }
  });
});
