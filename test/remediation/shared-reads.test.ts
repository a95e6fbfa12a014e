import { describe, expect, test } from 'vitest';
import type { ClusterFacts } from '../../lib/gap/model.ts';
import type { ClusterReader } from '../../lib/ports.ts';
import { SharedReads } from '../../lib/remediation/shared-reads.ts';

const reader = {} as ClusterReader;

/** Reads by name that end when told to. */
class Reads {
  readonly begun: string[] = [];
  readonly #ends = new Map<string, (facts: ClusterFacts) => void>();
  readonly #failures = new Map<string, (error: Error) => void>();
  readonly shared = new SharedReads();

  ask(name: string, options: { full?: boolean; cluster?: string; by?: ClusterReader } = {}) {
    const { full = true, cluster = 'prod', by = reader } = options;
    const read = () => {
      this.begun.push(name);
      return new Promise<ClusterFacts>((resolve, reject) => {
        this.#ends.set(name, resolve);
        this.#failures.set(name, reject);
      });
    };
    return this.shared.facts(by, { cluster, configSha: 'sha', full, read });
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.({ cluster: name } as ClusterFacts);
    await settled();
  }

  async fail(name: string): Promise<void> {
    this.#failures.get(name)?.(new Error(`${name} failed`));
    await settled();
  }
}

/** Lets everything happen that waits for nothing else. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

describe('reads of one cluster in one process', () => {
  test('begin at once when none is under way', async () => {
    const reads = new Reads();
    const facts = reads.ask('a');
    expect(reads.begun).toEqual(['a']);
    await reads.end('a');
    await expect(facts).resolves.toMatchObject({ cluster: 'a' });
    void reads.ask('b');
    expect(reads.begun).toEqual(['a', 'b']);
  });

  test('are shared by all who ask while one is under way, and begin after they asked', async () => {
    const reads = new Reads();
    const first = reads.ask('a');
    const others = ['b', 'c', 'd'].map((name) => reads.ask(name));
    expect(reads.begun).toEqual(['a']);
    await reads.end('a');
    await expect(first).resolves.toMatchObject({ cluster: 'a' });
    // Who asked last knows best what to read.
    expect(reads.begun).toEqual(['a', 'd']);
    void reads.ask('e');
    expect(reads.begun).toEqual(['a', 'd']);
    await reads.end('d');
    for (const facts of await Promise.all(others)) expect(facts.cluster).toBe('d');
    expect(reads.begun).toEqual(['a', 'd', 'e']);
  });

  test('are full when one of them has to be', async () => {
    const reads = new Reads();
    void reads.ask('a');
    void reads.ask('quick', { full: false });
    void reads.ask('full');
    void reads.ask('quicker', { full: false });
    await reads.end('a');
    expect(reads.begun).toEqual(['a', 'full']);
  });

  test('fail together, and the next one begins anew', async () => {
    const reads = new Reads();
    const first = reads.ask('a');
    const second = reads.ask('b');
    const third = reads.ask('c');
    const answers = Promise.allSettled([first, second, third]);
    await reads.fail('a');
    expect(reads.begun).toEqual(['a', 'c']);
    await reads.fail('c');
    const reasons = (await answers).map(
      (each) => each.status === 'rejected' && each.reason.message,
    );
    expect(reasons).toEqual(['a failed', 'c failed', 'c failed']);
    void reads.ask('d');
    expect(reads.begun).toEqual(['a', 'c', 'd']);
  });

  test('are not shared with those of another cluster, or with another reader', () => {
    const reads = new Reads();
    void reads.ask('a');
    void reads.ask('b', { cluster: 'staging' });
    void reads.ask('c', { by: {} as ClusterReader });
    expect(reads.begun).toEqual(['a', 'b', 'c']);
  });
});
