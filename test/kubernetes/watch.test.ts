import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { isKubernetesError, KubernetesError } from '../../lib/errors.ts';
import { createTransport, type StreamingTransport } from '../../lib/kubernetes/transport.ts';
import { type FollowOptions, follow, gateOf } from '../../lib/kubernetes/watch.ts';
import { type Named, named, statusOf, WatchServer } from './watch-server.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** What a follower has heard, as words, and a way to wait for more of it. */
class Heard {
  readonly words: string[] = [];
  #waiting: (() => void)[] = [];

  say(word: string): void {
    this.words.push(word);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves when `word` has been said `times` times. */
  async until(word: string, times = 1): Promise<void> {
    while (this.words.filter((each) => each === word).length < times) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }
}

function projectNamed(raw: unknown): Named {
  const object = raw as Named;
  if (object.metadata?.name === undefined) throw new KubernetesError('server', 'it has no name');
  return object;
}

interface Followed {
  server: WatchServer;
  transport: StreamingTransport;
  heard: Heard;
  slept: number[];
  /** Lets that much time pass, with every timer at its moment. Waiting takes time, too. */
  pass(ms: number): void;
  /** Resolves when the first watch has been answered. */
  opened: Promise<void>;
  /** Resolves or rejects as the following ends. */
  ended: Promise<void>;
  stop(): void;
}

async function following(
  prepare: (server: WatchServer) => void = () => undefined,
  options: Partial<FollowOptions> & { tls?: { cert: Buffer; key: Buffer; ca: Buffer } } = {},
): Promise<Followed> {
  const server = await new WatchServer().start(options.tls);
  server.items = [named('a', 1)];
  prepare(server);
  const transport = createTransport({
    server: server.url,
    ...(options.tls === undefined ? {} : { tls: { ca: options.tls.ca } }),
  });
  const heard = new Heard();
  const slept: number[] = [];
  const opened = Promise.withResolvers<void>();
  let now = 0;
  let timers: { at: number; run: () => void }[] = [];
  const pass = (ms: number): void => {
    now += ms;
    const due = timers.filter(({ at }) => at <= now);
    timers = timers.filter(({ at }) => at > now);
    for (const { run } of due) run();
  };
  const abort = new AbortController();
  const names = (items: readonly Named[]) => items.map(({ metadata }) => metadata.name).join('+');
  const ended = follow<Named>(
    transport,
    { path: '/api/v1/things', selectors: { labelSelector: 'x' }, project: projectNamed },
    {
      listed: (items, why) => heard.say(`listed ${why} ${names(items)}`),
      changed: ({ metadata }) => heard.say(`changed ${metadata.name}`),
      removed: ({ metadata }) => heard.say(`removed ${metadata.name}`),
      following: () => heard.say('following'),
      broken: ({ kind }) => heard.say(`broken ${kind}`),
    },
    {
      uptime: () => now,
      schedule(ms, run) {
        const timer = { at: now + ms, run };
        timers.push(timer);
        opened.resolve();
        return () => {
          timers = timers.filter((each) => each !== timer);
        };
      },
      pacing: {
        random: () => 0.5,
        async sleep(ms) {
          slept.push(ms);
          pass(ms);
        },
      },
      signal: abort.signal,
      gate: gateOf(2),
      ...options,
    },
  );
  // A test that does not look at the end must not fail by an unhandled rejection.
  ended.catch(() => undefined);
  cleanups.push(
    () => server.close(),
    () => transport.close(),
    () => abort.abort(),
  );
  const stop = (): void => abort.abort();
  return { server, transport, heard, slept, pass, opened: opened.promise, ended, stop };
}

describe('following a resource', () => {
  it('lists, then watches from the version of the list, with bookmarks and a time limit', async () => {
    const { server, heard, stop, ended } = await following((each) => {
      each.resourceVersion = '41';
    });
    const watch = await server.watch(1);
    expect(Object.fromEntries(watch.query)).toEqual({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '41',
      timeoutSeconds: '450',
      labelSelector: 'x',
    });
    watch.event('ADDED', named('b', 42));
    watch.event('MODIFIED', named('a', 43));
    watch.event('DELETED', named('b', 44));
    await heard.until('removed b');
    expect(heard.words).toEqual([
      'listed first a',
      'following',
      'changed b',
      'changed a',
      'removed b',
    ]);
    stop();
    await ended;
    await watch.closed;
  });

  it('goes on at once from the last version when the server closes a stream that lasted', async () => {
    const { server, heard, slept, pass } = await following();
    const first = await server.watch(1);
    first.event('ADDED', named('b', 7));
    first.event('BOOKMARK', { metadata: { resourceVersion: '99' } });
    await heard.until('changed b');
    pass(10_000);
    first.end();
    const second = await server.watch(2);
    expect(second.query.get('resourceVersion')).toBe('99');
    expect(slept).toEqual([]);
    expect(server.lists).toHaveLength(1);
    expect(heard.words.join()).not.toContain('broken');
  });

  it('pauses before it opens a stream again that was closed with nothing said', async () => {
    const { server, slept, heard } = await following();
    (await server.watch(1)).end();
    (await server.watch(2)).end();
    await server.watch(3);
    expect(slept).toEqual([250, 500]);
    expect(heard.words.filter((word) => word === 'broken server')).toHaveLength(2);
    expect(server.lists).toHaveLength(1);
  });

  it('says that a cut stream is broken, waits with jitter, and goes on from its version', async () => {
    const { server, heard, slept } = await following();
    const first = await server.watch(1);
    first.event('ADDED', named('b', 7));
    await heard.until('changed b');
    first.write('{"type":"ADDED","object":{"metad');
    first.cut();
    const second = await server.watch(2);
    expect(second.query.get('resourceVersion')).toBe('7');
    expect(heard.words).toContain('broken unreachable');
    expect(slept).toEqual([250]);
    second.event('ADDED', named('c', 8));
    await heard.until('changed c');
  });

  it('waits longer with every failure in a row, and as long as the server asks', async () => {
    const busy = { status: 429, body: statusOf(429, 'TooManyRequests') };
    const { server, heard, slept, pass } = await following((each) => {
      each.refuseWatch.push(undefined, 'cut', 'cut', {
        ...busy,
        headers: { 'retry-after': '7' },
      });
    });
    const first = await server.watch(1);
    first.event('ADDED', named('b', 7));
    await heard.until('changed b');
    pass(10_000);
    first.end();
    await server.watch(2);
    expect(slept).toEqual([250, 500, 7_000]);
    expect(heard.words.filter((word) => word.startsWith('broken'))).toEqual([
      'broken unreachable',
      'broken unreachable',
      'broken throttled',
    ]);
  });

  it('lists again when an ERROR event says that its version is too old', async () => {
    const { server, heard, slept } = await following();
    const first = await server.watch(1);
    first.event('BOOKMARK', { metadata: { resourceVersion: '2' } });
    await heard.until('following');
    server.items = [named('z', 9)];
    server.resourceVersion = '9';
    first.event('ERROR', statusOf(410, 'Expired', 'too old resource version: 1 (9)'));
    const second = await server.watch(2);
    expect(second.query.get('resourceVersion')).toBe('9');
    second.event('BOOKMARK', { metadata: { resourceVersion: '10' } });
    await heard.until('following', 2);
    expect(heard.words).toEqual([
      'listed first a',
      'following',
      'broken gone',
      'listed expired z',
      'following',
    ]);
    expect(slept).toEqual([0]);
  });

  it('lists again when a watch is answered with 410, and pauses before the third list', async () => {
    const expired = { status: 410, body: statusOf(410, 'Expired') };
    const { server, slept } = await following((each) => {
      each.refuseWatch.push(expired, expired);
    });
    await server.watch(1);
    expect(server.lists).toHaveLength(3);
    expect(slept).toEqual([0, 500]);
  });

  it.each([
    ['another ERROR event', { type: 'ERROR', object: statusOf(500, 'InternalError') }],
    ['an object without a name', { type: 'ADDED', object: {} }],
    ['an event of no known type', { type: 'RENAMED', object: named('b', 2) }],
    ['an event without an object', { type: 'DELETED', object: null }],
    ['a bookmark without an object', { type: 'BOOKMARK' }],
    ['a bookmark without a version', { type: 'BOOKMARK', object: { metadata: {} } }],
  ])('lists again after %s, since what it meant is not known', async (_what, event) => {
    const { server, heard, slept } = await following();
    const watch = await server.watch(1);
    watch.write(`${JSON.stringify(event)}\n`);
    await server.watch(2);
    expect(server.lists).toHaveLength(2);
    expect(heard.words).toContain('broken server');
    expect(slept).toEqual([250]);
  });

  it('counts a stream on which nothing comes any more as broken', async () => {
    const { server, heard } = await following(undefined, { idleMs: 50 });
    await server.watch(1);
    await heard.until('broken unreachable');
    await server.watch(2);
  });

  it('ends with the error when it may not watch from the first', async () => {
    const message = 'nodes is forbidden: User "u" cannot watch resource "nodes" in API group ""';
    const { ended } = await following((each) => {
      each.refuseWatch.push({ status: 403, body: statusOf(403, 'Forbidden', message) });
    });
    const error = await ended.catch((thrown: unknown) => thrown);
    expect(isKubernetesError(error, 'forbidden')).toBe(true);
    expect(String(error)).toContain('not allowed to watch nodes');
  });

  it('waits out a refusal that comes later, as an API server gives right after its start', async () => {
    const { server, heard } = await following((each) => {
      each.refuseWatch.push(undefined, { status: 403, body: statusOf(403, 'Forbidden') });
    });
    (await server.watch(1)).cut();
    await server.watch(2);
    expect(heard.words.slice(1)).toEqual(['broken unreachable', 'broken forbidden']);
  });

  it('says that it follows once a stream has lasted half a second with nothing said', async () => {
    const { heard, pass, opened } = await following();
    await opened;
    pass(499);
    expect(heard.words).not.toContain('following');
    pass(1);
    expect(heard.words).toEqual(['listed first a', 'following']);
    pass(60_000);
    expect(heard.words).toHaveLength(2);
  });

  it('never says that it follows a stream that was broken at once', async () => {
    const { server, heard } = await following();
    (await server.watch(1)).end();
    (await server.watch(2)).write('<html>\n');
    (await server.watch(3)).event('ERROR', statusOf(410, 'Expired'));
    (await server.watch(4)).cut();
    await server.watch(5);
    expect(heard.words).not.toContain('following');
  });

  it('ends with the error when the first watch is answered with something else than JSON', async () => {
    const { ended, heard, server } = await following((each) => {
      each.refuseWatch.push({
        status: 200,
        body: 'log in',
        headers: { 'content-type': 'text/html; charset=utf-8' },
      });
    });
    const error = await ended.catch((thrown: unknown) => thrown);
    expect(String(error)).toContain(
      'the watch of /api/v1/things was answered with text/html; charset=utf-8 in place of application/json',
    );
    expect(heard.words).toEqual(['listed first a']);
    expect(server.watches).toHaveLength(0);
  });

  it('waits out such an answer that comes later, from the same version', async () => {
    const { server, heard, slept } = await following((each) => {
      const page = { status: 200, body: 'wait', headers: { 'content-type': 'text/html' } };
      each.refuseWatch.push(undefined, page, page);
    });
    const first = await server.watch(1);
    first.event('ADDED', named('b', 7));
    await heard.until('changed b');
    first.cut();
    const second = await server.watch(2);
    expect(second.query.get('resourceVersion')).toBe('7');
    expect(heard.words.slice(3)).toEqual(['broken unreachable', 'broken server', 'broken server']);
    expect(slept).toEqual([250, 500, 1_000]);
    expect(server.lists).toHaveLength(1);
  });

  it('ends with the error when the first list fails', async () => {
    const { ended, heard } = await following((each) => {
      each.refuseList.push({ status: 403, body: statusOf(403, 'Forbidden') });
    });
    await expect(ended).rejects.toThrow('403');
    expect(heard.words).toEqual([]);
  });
});

describe('a server that answers wrongly for a minute', () => {
  const bookmark = { type: 'BOOKMARK', object: { metadata: { resourceVersion: '9' } } };
  const added = { type: 'ADDED', object: named('b', 7) };
  const expired = { type: 'ERROR', object: statusOf(410, 'Expired', 'too old') };

  it.each<[string, unknown[], { lists: number }]>([
    ['closes with nothing said', [], { lists: 1 }],
    ['sends a bookmark and closes', [bookmark], { lists: 1 }],
    ['sends an event and closes', [added], { lists: 1 }],
    ['sends an event and expires it', [added, expired], { lists: 17 }],
    ['expires what it has just listed', [expired], { lists: 17 }],
    ['sends a bookmark without an object', [{ type: 'BOOKMARK' }], { lists: 17 }],
    ['sends an event without an object', [{ type: 'ADDED' }], { lists: 17 }],
  ])('is asked less and less often when it %s', async (_what, events, { lists }) => {
    let open = 0;
    const { server, slept, ended, stop } = await following((each) => {
      const answer = async (): Promise<void> => {
        const watch = await each.watch(open + 1);
        open += 1;
        for (const event of events) watch.write(`${JSON.stringify(event)}\n`);
        watch.end();
        // Far more than there may be; a follower without a pause gets there soon.
        const spent = slept.reduce((sum, ms) => sum + ms, 0);
        if (spent >= 60_000 || open >= 200) stop();
        else await answer();
      };
      setImmediate(() => void answer());
    });
    await ended;
    expect(server.watches.length).toBeLessThanOrEqual(17);
    expect(server.watches.length).toBeGreaterThanOrEqual(15);
    expect(server.lists.length).toBeLessThanOrEqual(lists);
  });

  it('is listed again at once after every stream that lasted, and only then', async () => {
    const { server, slept, pass, heard } = await following();
    for (let count = 1; count <= 3; count += 1) {
      const watch = await server.watch(count);
      watch.event('ADDED', named(`n${count}`, count));
      await heard.until(`changed n${count}`);
      if (count !== 2) pass(10_000);
      watch.event('ERROR', expired.object);
    }
    await server.watch(4);
    expect(slept).toEqual([0, 500, 0]);
  });
});

describe('the bytes of a watch', () => {
  const snowman = named('schnee-☃-𝄞', 5);
  const bytes = Buffer.from(`${JSON.stringify({ type: 'ADDED', object: snowman })}\n`);

  it('may be cut anywhere, inside a character too', async () => {
    const { server, heard } = await following();
    const watch = await server.watch(1);
    // One byte a chunk is every boundary at once.
    for (const byte of bytes) {
      watch.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await heard.until(`changed ${snowman.metadata.name}`);
  });

  it('may hold many events in one chunk, the last one unfinished', async () => {
    const { server, heard } = await following();
    const watch = await server.watch(1);
    watch.write(Buffer.concat([bytes, bytes, bytes, bytes.subarray(0, 20)]));
    await heard.until(`changed ${snowman.metadata.name}`, 3);
    watch.write(bytes.subarray(20));
    await heard.until(`changed ${snowman.metadata.name}`, 4);
  });

  it('may be compressed, and an event comes out without waiting for the next', async () => {
    const { server, heard, transport } = await following((each) => {
      each.gzip = true;
    });
    const watch = await server.watch(1);
    for (let times = 1; times <= 3; times += 1) {
      watch.write(bytes);
      await heard.until(`changed ${snowman.metadata.name}`, times);
    }
    expect(transport.stats.bytesDecoded).toBeGreaterThan(3 * bytes.length);
    watch.end();
    await server.watch(2);
  });

  it('are counted, with requests and connections', async () => {
    const { server, heard, transport } = await following();
    const before = transport.stats.bytesReceived;
    const watch = await server.watch(1);
    watch.write(bytes);
    await heard.until(`changed ${snowman.metadata.name}`);
    expect(transport.stats.bytesReceived).toBeGreaterThanOrEqual(before + bytes.length);
    expect(transport.stats.requests).toBe(2);
    expect(transport.stats.connections).toBe(2);
  });

  it('come over TLS as well', async () => {
    const pem = (what: string) =>
      readFileSync(join(import.meta.dirname, 'fixtures', `loopback-test-only.${what}.pem`));
    const tls = { cert: pem('cert'), key: pem('key'), ca: pem('cert') };
    const { server, heard } = await following(undefined, { tls });
    const watch = await server.watch(1);
    watch.write(bytes);
    await heard.until(`changed ${snowman.metadata.name}`);
  });
});

describe('a gate', () => {
  it('lets only so many in at once, and everybody in the end', async () => {
    const gate = gateOf(2);
    let inside = 0;
    let most = 0;
    const done = await Promise.all(
      [1, 2, 3, 4, 5].map((number) =>
        gate(async () => {
          inside += 1;
          most = Math.max(most, inside);
          await new Promise((resolve) => setImmediate(resolve));
          inside -= 1;
          if (number === 2) throw new Error('no');
          return number;
        }).catch(() => 0),
      ),
    );
    expect(done).toEqual([1, 0, 3, 4, 5]);
    expect(most).toBe(2);
  });
});
