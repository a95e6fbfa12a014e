import { describe, expect, it } from 'vitest';
import type { ClusterFacts } from '../../lib/gap/model.ts';
import {
  fullReadEveryMs,
  needsFullRead,
  type ReadMemory,
  readsInFull,
  refuseOlder,
} from '../../lib/remediation/read-extent.ts';
import type { LastScan } from '../../lib/safety/scan-store.ts';
import { minute, node, now } from '../gap/build.ts';

const memory = (more: Partial<ReadMemory> = {}): ReadMemory => ({
  lastScan: { at: now - minute, fullReadAt: now - 2 * minute },
  troubled: new Set(),
  slots: [],
  now,
  ...more,
});

describe('a scan reads in full', () => {
  it.each<[string, Partial<ReadMemory>]>([
    ['when there was none before', { lastScan: undefined }],
    ['when no full read is remembered', { lastScan: { at: now - minute } }],
    [
      'when the last full read is ten minutes old',
      { lastScan: { at: now, fullReadAt: now - fullReadEveryMs } },
    ],
    [
      'when the last full read lies in the future, by another clock',
      { lastScan: { at: now, fullReadAt: now + minute } },
    ],
    ['while a replacement awaits verification', { slots: [{ nodeUid: 'u', committedAt: now }] }],
  ])('%s', (_when, more) => {
    expect(needsFullRead(memory(more))).toBe(true);
  });

  it('not otherwise', () => {
    expect(needsFullRead(memory())).toBe(false);
    expect(needsFullRead(memory({ slots: [{ nodeUid: 'u' }] }))).toBe(false);
  });
});

describe('a quick scan reads a node in full', () => {
  const inFull = readsInFull(
    memory({ troubled: new Set(['uid-troubled']), slots: [{ nodeUid: 'uid-worked-on' }] }),
  );

  it.each([
    ['that has a gap record', node('troubled')],
    ['that is in work', node('worked-on')],
    [
      'that nodegap has isolated',
      node('marked', { metadata: { annotations: { 'nodegap.dev/isolation': '{}' } } }),
    ],
  ])('%s', (_which, which) => {
    expect(inFull(which)).toBe(true);
  });

  it('no other', () => {
    expect(inFull(node('well', { metadata: { annotations: { a: 'b' } } }))).toBe(false);
  });
});

describe('an answer from the past', () => {
  const facts = (resourceVersion?: string): ClusterFacts => ({
    cluster: 'prod',
    readAt: now,
    nodes: [],
    daemonSets: [],
    pods: [],
    events: { ok: true, items: [] },
    nodeClaims: { ok: true, items: [] },
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  });
  const last: LastScan = { at: now - minute, resourceVersion: '10000' };

  it('is refused by what it shows', () => {
    // As texts, 9999 would come after 10000.
    expect(() => refuseOlder(facts('9999'), last, now)).toThrow(
      expect.objectContaining({ code: 'Kubernetes.stale' }),
    );
  });

  it.each<[string, string | undefined, LastScan | undefined]>([
    ['the same state', '10000', last],
    ['a later one', '100000000000000000001', { ...last, resourceVersion: '100000000000000000000' }],
    ['one that nobody tells', undefined, last],
    ['one that is no number', 'abc', last],
    ['the first there is', '1', undefined],
    ['one that follows an unknown one', '1', { at: now - minute }],
    [
      'an earlier one 15 minutes after the last scan: etcd was restored',
      '1',
      { ...last, at: now - 15 * minute },
    ],
  ])('is not %s', (_what, version, before) => {
    expect(() => refuseOlder(facts(version), before, now)).not.toThrow();
  });
});
