import { describe, expect, it } from 'vitest';
import { breakerNotice } from '../../../lib/report/notices/breaker-notice.ts';
import type { MeasuredState } from '../../../lib/safety/breaker.ts';

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
const firstLineOf = ({ body }: { body: string }) => body.split('\n')[0];

describe('the notice of a breaker', () => {
  it('C114: says in its first line what is withheld, where, and why in numbers', () => {
    const notice = breakerNotice('prod', 'opened', [pool]);
    expect(notice).toMatchObject({ kind: 'breaker', severity: 'critical', cluster: 'prod' });
    expect(firstLineOf(notice)).toBe(
      'nodegap has stopped new work in cluster prod (pool general), because too many nodes are unhealthy at once: 3 of 10 nodes unhealthy = 30 %.',
    );
  });

  it('C114: says scope, numbers, limit and nodes', () => {
    const { body } = breakerNotice('prod', 'opened', [pool]);
    expect(body).toContain('Pool general: 3 of 10 nodes unhealthy = 30 %, limit 2.');
    expect(body).toContain('Nodes: a, b, c.');
  });

  it('gathers the scopes of one scan, and names each node once', () => {
    const { body } = breakerNotice('prod', 'opened', [pool, zone]);
    expect(body.split('\n')[0]).toContain('(pool general, zone eu-west-1a)');
    expect(body).toContain('Zone eu-west-1a: 3 of 5 nodes unhealthy = 60 %, limit 1.');
    expect(body.match(/Nodes: .*/)?.[0]).toBe('Nodes: a, b, c.');
  });

  it('C114: shortens a long list of nodes and of scopes', () => {
    const names = Array.from({ length: 90 }, (_, index) => `node-${index}`);
    const many = { ...pool, total: 100, unhealthy: 90, unhealthyNodes: names };
    const zones = ['a', 'b', 'c', 'd', 'e'].map((letter) => ({ ...zone, name: `z-${letter}` }));
    const { body } = breakerNotice('prod', 'opened', [many, ...zones]);
    expect(body.match(/Nodes: .*/)?.[0]).toMatch(/ and 73 more\.$/);
    expect(body.split('\n')[0]).toContain('(pool general, zone z-a, zone z-b and 3 more)');
  });

  it('does not pass a shortened list of nodes off as all of them', () => {
    const { body } = breakerNotice('prod', 'opened', [{ ...pool, unhealthy: 30, total: 40 }]);
    expect(body).toContain('Nodes: a, b, c and others.');
  });

  it('says that work may begin again once it has closed, in the same thread', () => {
    const closed = breakerNotice('prod', 'closed', [pool]);
    const opened = breakerNotice('prod', 'opened', [pool, zone]);
    expect(closed).toMatchObject({ severity: 'info', subject: opened.subject });
    expect(closed.thread).toBe(opened.thread);
    expect(firstLineOf(closed)).toContain('nodegap may work in cluster prod (pool general) again');
    expect(closed.body).not.toContain('Nodes:');
  });

  it('bears the pool where it is about one pool alone', () => {
    expect(breakerNotice('prod', 'opened', [pool]).pool).toBe('general');
    expect(breakerNotice('prod', 'opened', [pool, zone]).pool).toBeUndefined();
  });
});
