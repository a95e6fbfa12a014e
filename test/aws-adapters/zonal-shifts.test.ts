import { afterEach, describe, expect, it } from 'vitest';
import { createZonalShifts } from '../../lib/aws/zonal-shifts.ts';
import { type Asked, type Loopback, type Reply, startLoopback } from '../kubernetes/loopback.ts';

let server: Loopback;
afterEach(() => server.close());

const now = Date.parse('2026-11-30T12:00:00Z');
const arn = 'arn:aws:eks:eu-west-1:111122223333:cluster/prod';

async function shiftsOf(answer: (request: Asked) => Reply) {
  server = await startLoopback(answer);
  return createZonalShifts({
    region: 'eu-west-1',
    clock: { now: () => now },
    credentials: async () => ({
      accessKeyId: 'AKID',
      secretAccessKey: 's',
      sessionToken: 'session',
    }),
    endpoint: server.url,
  });
}

const item = (overrides: Record<string, unknown> = {}) => ({
  zonalShiftIdentifier: '1',
  resourceIdentifier: arn,
  awayFrom: 'euw1-az1',
  startTime: now / 1000,
  expiryTime: now / 1000 + 3600,
  status: 'ACTIVE',
  comment: 'AZ trouble',
  ...overrides,
});
const json = (body: unknown): Reply => ({ status: 200, body });

describe('the active zonal shifts', () => {
  it('are those of the account with the autoshifts, page by page', async () => {
    const list = await shiftsOf(({ path, query }) => {
      if (path === '/autoshifts') {
        return json({ items: [{ awayFrom: 'euw1-az2', startTime: 1, status: 'ACTIVE' }] });
      }
      return query.get('nextToken') === null
        ? json({ items: [item()], nextToken: 'a b' })
        : json({ items: [item({ practiceRunOutcome: 'PENDING' }), item({ status: 'EXPIRED' })] });
    });
    expect(await list()).toEqual([
      { kind: 'zonal-shift', awayFrom: 'euw1-az1', resource: arn, until: now + 3_600_000 },
      { kind: 'practice-run', awayFrom: 'euw1-az1', resource: arn, until: now + 3_600_000 },
      { kind: 'autoshift', awayFrom: 'euw1-az2' },
    ]);
    for (const { method, query } of server.asked) {
      expect([method, query.get('status')]).toEqual(['GET', 'ACTIVE']);
    }
  });

  it('are asked for with a signature for the service and region', async () => {
    const list = await shiftsOf(() => json({ items: [] }));
    expect(await list()).toEqual([]);
    for (const { headers } of server.asked) {
      expect(headers.authorization).toMatch(
        /^AWS4-HMAC-SHA256 Credential=AKID\/20261130\/eu-west-1\/arc-zonal-shift\/aws4_request, /,
      );
      expect(headers['x-amz-security-token']).toBe('session');
    }
  });

  it.each<[string, Reply, string]>([
    ['a refusal', { status: 403, body: { message: 'not authorized' } }, 'Arc.denied'],
    ['throttling', { status: 429, body: {} }, 'Arc.failed'],
    ['no JSON', { status: 200, body: '<html>' }, 'Arc.failed'],
    ['another shape', json({ items: [{}] }), 'Arc.failed'],
    ['no list', json({}), 'Arc.failed'],
    ['a cut connection', 'cut', 'Arc.failed'],
    ['pages without end', json({ items: [], nextToken: 'again' }), 'Arc.failed'],
  ])('are unknown after %s: never none', async (_what, reply, code) => {
    const list = await shiftsOf(() => reply);
    await expect(list()).rejects.toMatchObject({ code });
  });
});
