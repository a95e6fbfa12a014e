import { describe, expect, it } from 'vitest';
import { breakerNotice } from '../../lib/report/breaker-notice.ts';
import type { MeasuredState } from '../../lib/safety/breaker.ts';

const pool: MeasuredState = {
  kind: 'pool',
  name: 'general',
  source: 'measured',
  openedAt: 0,
  lastAboveAt: 0,
  closesAt: 600_000,
  reopenUntil: 600_000,
  total: 10,
  unhealthy: 3,
  limit: 2,
  unhealthyNodes: ['b', 'a', 'c'],
};
const zone: MeasuredState = { ...pool, kind: 'zone', name: 'eu-west-1a', total: 5, limit: 1 };

describe('the notice of a breaker', () => {
  it('says scope, numbers, limit and nodes', () => {
    const notice = breakerNotice('prod', 'opened', [pool]);
    expect(notice).toMatchObject({
      kind: 'breaker',
      cluster: 'prod',
      subject: 'nodegap: breaker opened in prod: pool general',
    });
    expect(notice.body).toContain('pool general: 3 of 10 nodes unhealthy (30 %), limit 2.');
    expect(notice.body).toContain('Nodes: a, b, c.');
  });

  it('gathers the scopes of one scan, and names each node once', () => {
    const { subject, body } = breakerNotice('prod', 'opened', [pool, zone]);
    expect(subject).toBe('nodegap: breaker opened in prod: pool general, zone eu-west-1a');
    expect(body).toContain('zone eu-west-1a: 3 of 5 nodes unhealthy (60 %), limit 1.');
    expect(body.match(/Nodes: .*/)?.[0]).toBe('Nodes: a, b, c.');
  });

  it('names as many scopes in the subject as there is room for', () => {
    const zones = ['a', 'b', 'c', 'd', 'e'].map((letter) => ({
      ...zone,
      name: `eu-west-1${letter}`,
    }));
    const { subject } = breakerNotice('analytics', 'opened', [pool, ...zones]);
    expect(subject).toBe(
      'nodegap: breaker opened in analytics: pool general, zone eu-west-1a, zone eu-west-1b and 3 more',
    );
    expect(subject.length).toBeLessThanOrEqual(100);
    const long = breakerNotice('c'.repeat(95), 'opened', [pool, zone]).subject;
    expect(long).toHaveLength(100);
  });

  it('does not pass a shortened list of nodes off as all of them', () => {
    const { body } = breakerNotice('prod', 'opened', [{ ...pool, unhealthy: 30, total: 40 }]);
    expect(body).toContain('Nodes: a, b, c and others.');
  });

  it('says that work may begin again once it has closed', () => {
    const { subject, body } = breakerNotice('prod', 'closed', [pool]);
    expect(subject).toBe('nodegap: breaker closed in prod: pool general');
    expect(body).toContain('Work may begin again');
    expect(body).not.toContain('Nodes:');
  });
});
