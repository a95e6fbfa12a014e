import { afterEach, describe, expect, it } from 'vitest';
import { isKubernetesError } from '../../lib/errors.ts';
import {
  type ListOptions,
  type ListSelectors,
  listAll,
  listWithVersion,
} from '../../lib/kubernetes/list.ts';
import { projectNode } from '../../lib/kubernetes/projections.ts';
import { createTransport } from '../../lib/kubernetes/transport.ts';
import {
  type Asked,
  type Loopback,
  page,
  type Reply,
  startLoopback,
  status,
  thrown,
} from './loopback.ts';

const path = '/api/v1/pods';
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function lists(answer: (asked: Asked) => Reply) {
  const server: Loopback = await startLoopback(answer);
  const transport = createTransport({ server: server.url });
  cleanups.push(
    () => server.close(),
    () => transport.close(),
  );
  const slept: number[] = [];
  return {
    server,
    slept,
    list: (selectors: ListSelectors = {}, options: Partial<ListOptions> = {}) =>
      listAll(transport, path, selectors, (raw) => raw, {
        sleep: async (ms) => {
          slept.push(ms);
        },
        ...options,
      }),
  };
}

const expired = status(410, 'Expired', 'The provided continue parameter is too old');

/** Serves `count` numbered objects in pages of the limit asked for, the token being the offset. */
function pagesOf(count: number) {
  return ({ query }: Asked): Reply => {
    const from = Number(query.get('continue') ?? 0);
    const to = Math.min(from + Number(query.get('limit')), count);
    const items = Array.from({ length: to - from }, (_, i) => ({ n: from + i }));
    return page(items, to < count ? String(to) : '');
  };
}

describe('paging', () => {
  it('C101: follows the token through all pages of 1,300 pods', async () => {
    const { server, list } = await lists(pagesOf(1_300));
    const all = await list({ labelSelector: 'controller-revision-hash' });
    expect(all).toEqual(Array.from({ length: 1_300 }, (_, n) => ({ n })));
    expect(server.asked.map(({ query }) => query.get('continue'))).toEqual([null, '500', '1000']);
  });

  it('repeats limit and selectors on every page and never sends a resourceVersion', async () => {
    const { server, list } = await lists(pagesOf(1_001));
    await list({ labelSelector: 'a=b', fieldSelector: 'spec.nodeName=' });
    expect(server.asked).toHaveLength(3);
    for (const { query } of server.asked) {
      expect(query.get('limit')).toBe('500');
      expect(query.get('labelSelector')).toBe('a=b');
      expect(query.get('fieldSelector')).toBe('spec.nodeName=');
      expect(query.has('resourceVersion')).toBe(false);
      expect(query.has('resourceVersionMatch')).toBe(false);
    }
  });

  it('gives the version of its first page, from which a watch goes on', async () => {
    const server = await startLoopback(({ query }) => ({
      body: query.has('continue')
        ? { metadata: { resourceVersion: '99' }, items: [2] }
        : { metadata: { resourceVersion: '41', continue: 'a' }, items: [1] },
    }));
    const transport = createTransport({ server: server.url });
    cleanups.push(
      () => server.close(),
      () => transport.close(),
    );
    const list = await listWithVersion(transport, path, {}, (raw) => raw, {
      sleep: async () => {},
    });
    expect(list).toEqual({ items: [1, 2], resourceVersion: '41' });
  });

  it('goes on after an empty and a short page as long as there is a token', async () => {
    const { list } = await lists(({ index }) =>
      index === 1 ? page([], 'a') : index === 2 ? page([1], 'b') : page([2]),
    );
    expect(await list()).toEqual([1, 2]);
  });

  it('takes null for an empty list', async () => {
    const { list } = await lists(() => ({ body: { metadata: {}, items: null } }));
    expect(await list()).toEqual([]);
  });

  it('projects every object', async () => {
    const server = await startLoopback(pagesOf(3));
    const transport = createTransport({ server: server.url });
    cleanups.push(
      () => server.close(),
      () => transport.close(),
    );
    const numbers = await listAll(transport, path, {}, (raw) => (raw as { n: number }).n, {
      sleep: async () => {},
    });
    expect(numbers).toEqual([0, 1, 2]);
  });
});

describe('410 in the middle of a list', () => {
  it('starts the whole list again, with no object twice', async () => {
    let cut = false;
    const serve = pagesOf(1_300);
    const { server, list } = await lists((asked) => {
      if (asked.query.get('continue') === '1000' && !cut) {
        cut = true;
        return expired;
      }
      return serve(asked);
    });
    expect(await list()).toEqual(Array.from({ length: 1_300 }, (_, n) => ({ n })));
    expect(server.asked.map(({ query }) => query.get('continue'))).toEqual([
      null,
      '500',
      '1000',
      null,
      '500',
      '1000',
    ]);
  });

  it('gives up after three new starts, saying so', async () => {
    const { server, list } = await lists(({ query }) =>
      query.has('continue') ? expired : page([1], 'next'),
    );
    const error = await thrown(() => list());
    expect(isKubernetesError(error, 'gone')).toBe(true);
    expect(error).toMatchObject({ message: expect.stringContaining('expired 4 times') });
    expect(server.asked).toHaveLength(8);
  });
});

describe('throttling', () => {
  const throttled = (seconds?: string): Reply => ({
    status: 429,
    ...(seconds === undefined ? {} : { headers: { 'retry-after': seconds } }),
    body: {},
  });

  it('waits as long as Retry-After says and asks for the same page again', async () => {
    const { server, slept, list } = await lists(({ index }) =>
      index === 1 ? page([1], 'next') : index === 2 ? throttled('3') : page([2]),
    );
    expect(await list()).toEqual([1, 2]);
    expect(slept).toEqual([3_000]);
    expect(server.asked.map(({ query }) => query.get('continue'))).toEqual([null, 'next', 'next']);
  });

  it('waits a second when no time is named', async () => {
    const { slept, list } = await lists(({ index }) => (index === 1 ? throttled() : page([])));
    await list();
    expect(slept).toEqual([1_000]);
  });

  it('waits at most five times in a whole list', async () => {
    const { slept, list } = await lists(() => throttled('1'));
    expect(isKubernetesError(await thrown(() => list()), 'throttled')).toBe(true);
    expect(slept).toHaveLength(5);
  });

  it('does not wait longer than half a minute at a time', async () => {
    const { slept, list } = await lists(() => throttled('31'));
    expect(isKubernetesError(await thrown(() => list()), 'throttled')).toBe(true);
    expect(slept).toEqual([]);
  });

  it('waits for an overloaded server that names a time', async () => {
    const { slept, list } = await lists(({ index }) =>
      index === 1 ? { status: 503, headers: { 'retry-after': '2' } } : page([1]),
    );
    expect(await list()).toEqual([1]);
    expect(slept).toEqual([2_000]);
  });
});

describe('a list that is not complete throws', () => {
  it.each<[string, Reply]>([
    ['an error on the second page', status(500, 'InternalError', 'boom')],
    ['a cut connection', 'cut-in-body'],
    ['an answer that is no JSON', { body: '{"items":[' }],
    ['an answer that is no list', { body: { kind: 'Status' } }],
    ['an empty answer', { body: '' }],
    ['a JSON null', { body: 'null' }],
    ['the same token again', page([2], 'next')],
    ['a refusal', status(403, 'Forbidden', 'no')],
  ])('%s', async (_title, second) => {
    const { list } = await lists(({ index }) => (index === 1 ? page([1], 'next') : second));
    expect(isKubernetesError(await thrown(() => list()))).toBe(true);
  });
});

describe('an item that cannot be used', () => {
  it('is one typed error that names the list and its index', async () => {
    const server = await startLoopback(({ query }) =>
      query.get('continue') === null
        ? page([{ metadata: { name: 'a', uid: 'u' } }], '1')
        : page([{ metadata: { name: 'b' } }]),
    );
    const transport = createTransport({ server: server.url });
    cleanups.push(
      () => server.close(),
      () => transport.close(),
    );
    const error = await thrown(() =>
      listAll(transport, '/api/v1/nodes', {}, projectNode, { sleep: async () => undefined }),
    );
    expect(isKubernetesError(error, 'server')).toBe(true);
    expect((error as Error).message).toBe(
      'item 1 of the list of /api/v1/nodes cannot be used: node b has no uid',
    );
  });
});
