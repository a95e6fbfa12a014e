import { describe, expect, it } from 'vitest';
import type { ExecutionStatus } from '../../lib/ports.ts';
import { keepEpisodes } from '../../lib/remediation/keep-episodes.ts';
import type { ClusterReading } from '../../lib/remediation/situation.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import { MemoryTable } from '../../local/memory-table.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
const minute = 60_000;
const execution = 'arn:aws:states:eu-west-1:123456789012:execution:nodegap:prod-e1-a1';

/** What stands of an attempt, begun under an execution, after a scan `minutes` later. */
async function after(minutes: number, status: ExecutionStatus) {
  let now = start;
  const table = new MemoryTable();
  const clock = { now: () => now };
  const episodes = new Episodes(table, clock);
  await episodes.take({ cluster: 'prod', node: 'n1', nodeUid: 'u1' });
  const input = { cluster: 'prod', node: 'n1', nodeUid: 'u1', episode: 1, attempt: 1 };
  await episodes.setExecution(input, execution);
  now += minutes * minute;
  const reading = {
    facts: { cluster: 'prod', nodes: [{ metadata: { name: 'n1', uid: 'u1' } }] },
    detection: { gaps: [{ nodeUid: 'u1' }], unknown: [] },
    records: [],
    config: { timings: { holdUp: 120 } },
    now,
  };
  const ports = { table, clock, workflow: { status: async () => status } };
  await keepEpisodes(
    ports as unknown as Parameters<typeof keepEpisodes>[0],
    reading as unknown as ClusterReading,
    new Set(),
  );
  return episodes.get('prod', 'u1');
}

describe('keepEpisodes', () => {
  const ended = { kind: 'ended', endedAt: start + minute, status: 'ABORTED' } as const;
  const table: [string, number, ExecutionStatus, 'running' | 'ended'][] = [
    ['one that runs', 600, { kind: 'running' }, 'running'],
    ['one whose last function may still be at work', 2, ended, 'running'],
    ['one that ended without a report', 5, ended, 'ended'],
    ['one that may just not be visible yet', 10, { kind: 'not-found' }, 'running'],
    ['one that Step Functions no longer knows', 20, { kind: 'not-found' }, 'ended'],
  ];
  it.each(table)('takes the attempt of %s for what it is', async (_name, minutes, status, is) => {
    const episode = await after(minutes, status);
    expect(episode).toMatchObject({ state: 'open', attemptState: is });
    if (is === 'ended') expect(episode?.outcome?.code).toBe('execution-lost');
  });
});
