/** The fixtures are what one kube-apiserver 1.36 sent of the same objects, once in each format. */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import { compactPods } from '../../lib/kubernetes/compact-pod.ts';
import { encodedBody } from '../../lib/kubernetes/content-encoding.ts';
import {
  jsonFormat,
  type ListAnswer,
  type ListFormat,
  type Page,
} from '../../lib/kubernetes/list-formats.ts';
import { NoTableError, podTableFormat } from '../../lib/kubernetes/pod-table.ts';
import { projectNode } from '../../lib/kubernetes/projections.ts';
import { nodeFormat, scanPodFormat } from '../../lib/kubernetes/protobuf/objects.ts';
import type { PodRow } from '../../lib/ports.ts';

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url));
const answer = (body: Buffer, type: string, encoding?: 'gzip'): ListAnswer => {
  const headers = {
    'content-type': type,
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
  };
  return { headers, body: encodedBody({ headers, body }, () => undefined) };
};
/** A body that comes in pieces of `size` bytes, each with memory of its own. */
const inPieces = (body: Buffer, type: string, size: number): ListAnswer => ({
  headers: { 'content-type': type },
  body: {
    whole: async () => body,
    async *pieces() {
      for (let at = 0; at < body.length; at += size) {
        yield Buffer.from(body.subarray(at, at + size));
      }
    },
  },
});
const itemsOf = async (page: Page) => {
  const items: unknown[] = [];
  for await (const some of page.items()) items.push(...some);
  return items;
};
const open = async (format: ListFormat, given: ListAnswer) => {
  const page = await format.open('p', given);
  return { ...page, all: await itemsOf(page) };
};
const protobufType = 'application/vnd.kubernetes.protobuf';

const kinds: {
  name: string;
  formatOf: () => ListFormat;
  project: () => (raw: unknown) => unknown;
}[] = [
  { name: 'nodes', formatOf: () => nodeFormat, project: () => projectNode },
  { name: 'pods', formatOf: scanPodFormat, project: compactPods },
];

describe.each(kinds)('$name as protobuf', ({ name, formatOf, project }) => {
  const format = formatOf();
  const openJson = () => open(jsonFormat, answer(fixture(`${name}.json`), 'application/json'));
  const body = fixture(`${name}.pb`);

  it('are what their JSON says', async () => {
    const { all } = await open(format, answer(body, protobufType));
    expect(all.length).toBeGreaterThan(10);
    const projected = (items: unknown[]) => items.map(project());
    expect(projected(all)).toEqual(projected((await openJson()).all));
  });

  it('go on where the JSON goes on, at the same state of the cluster', async () => {
    const { token, resourceVersion } = await format.open('p', answer(body, protobufType));
    const json = await openJson();
    expect(token).toBe(json.token);
    expect(resourceVersion).toBe(json.resourceVersion);
  });

  it('are read as JSON when the server answers so', async () => {
    const json = await openJson();
    const given = answer(fixture(`${name}.json`), 'application/json');
    expect((await open(format, given)).all).toEqual(json.all);
  });

  it('are the same in whatever pieces they come', async () => {
    const { all } = await open(format, answer(body, protobufType));
    for (const size of [1, 7, 100, 8_191, 10_000]) {
      const page = await open(format, inPieces(body, protobufType, size));
      expect(page.all).toEqual(all);
    }
  });

  it('are the same when they come compressed', async () => {
    const { all } = await open(format, answer(body, protobufType));
    const zipped = await open(format, answer(gzipSync(body), protobufType, 'gzip'));
    expect(zipped.all).toEqual(all);
  });

  it('are refused wherever the body is cut', async () => {
    for (let end = 0; end < body.length; end += 97) {
      const cut = body.subarray(0, end);
      await expect(open(format, answer(cut, protobufType))).rejects.toThrow(KubernetesError);
      const pieces = inPieces(cut, protobufType, 1_000);
      await expect(open(format, pieces)).rejects.toThrow(KubernetesError);
    }
  });

  it('are refused when what is compressed is cut or not whole', async () => {
    const zipped = gzipSync(body);
    const damaged = Buffer.from(zipped);
    // The checksum at the end.
    damaged.writeUInt32LE(0, damaged.length - 8);
    for (const broken of [zipped.subarray(0, zipped.length / 2), damaged]) {
      const given = answer(broken, protobufType, 'gzip');
      await expect(open(format, given)).rejects.toThrow(KubernetesError);
    }
  });

  it('are refused when they come without a list', async () => {
    // The envelope alone, and one around a message that does not begin with the list's metadata.
    for (const rest of [[], [0x12, 0x00], [0x12, 0x02, 0x12, 0x00], [0x10, 0x01]]) {
      const bare = Buffer.concat([Buffer.from('k8s\0'), Buffer.from(rest)]);
      await expect(open(format, answer(bare, protobufType))).rejects.toThrow(/is not a list/);
    }
  });

  it('are refused when it is not protobuf that was sent', async () => {
    const html = Buffer.from('<html>');
    await expect(open(format, answer(html, protobufType))).rejects.toThrow(/is not a list/);
  });
});

describe('a table of pods', () => {
  const openTable = (table: object) =>
    open(podTableFormat, answer(Buffer.from(JSON.stringify(table)), 'application/json'));
  const table = JSON.parse(fixture('pods-table.json').toString());

  it('has a row for each pod', async () => {
    const pods = JSON.parse(fixture('pods.json').toString()) as {
      items: { metadata: { name: string }; spec: { nodeName?: string } }[];
    };
    const rows = (await openTable(table)).all as PodRow[];
    expect(rows.map(({ name, node }) => ({ name, node }))).toEqual(
      pods.items.map(({ metadata, spec }) => ({ name: metadata.name, node: spec.nodeName })),
    );
    expect(rows[0]).toEqual({
      name: 'p-1',
      ready: '0/1',
      status: 'Init:0/0',
      node: 'strange',
      readinessGates: '<none>',
    });
  });

  it('says where it goes on', async () => {
    const { token, resourceVersion } = await openTable(table);
    expect(token).toBe(table.metadata.continue);
    expect(resourceVersion).toBe(table.metadata.resourceVersion);
  });

  it('finds columns by name', async () => {
    const reversed = {
      ...table,
      columnDefinitions: table.columnDefinitions.toReversed(),
      rows: table.rows.map(({ cells }: { cells: string[] }) => ({ cells: cells.toReversed() })),
    };
    expect((await openTable(reversed)).all).toEqual((await openTable(table)).all);
  });

  it('may be empty, or have holes that say nothing', async () => {
    expect((await openTable({ ...table, rows: null })).all).toEqual([]);
    const holes = [null, { cells: null }, {}];
    for (const row of (await openTable({ ...table, rows: holes })).all as PodRow[]) {
      expect(row.node).toBeUndefined();
    }
  });

  it.each([
    ['a list of pods', { kind: 'PodList', items: [] }],
    ['no object', null],
    ['a table with rows that are none', { ...table, rows: 'many' }],
    ['a table without the column that names the node', { ...table, columnDefinitions: [] }],
  ])('is none when the answer is %s', async (_what, body) => {
    await expect(openTable(body as object)).rejects.toThrow(NoTableError);
  });
});
