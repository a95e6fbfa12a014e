/** The fixtures are what one kube-apiserver 1.36 sent of the same objects, once in each format. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import { compactPods } from '../../lib/kubernetes/compact-pod.ts';
import { jsonFormat, type ListFormat } from '../../lib/kubernetes/list-formats.ts';
import { NoTableError, podTableFormat } from '../../lib/kubernetes/pod-table.ts';
import { projectNode } from '../../lib/kubernetes/projections.ts';
import { nodeFormat, scanPodFormat } from '../../lib/kubernetes/protobuf/objects.ts';
import type { PodRow } from '../../lib/ports.ts';

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}`, import.meta.url));
const answer = (body: Buffer, type: string) => ({
  status: 200,
  headers: { 'content-type': type },
  body,
});
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
  const json = jsonFormat.open('p', answer(fixture(`${name}.json`), 'application/json'));
  const body = fixture(`${name}.pb`);

  it('are what their JSON says', () => {
    const page = format.open('p', answer(body, protobufType));
    expect(page.items().length).toBeGreaterThan(10);
    const projected = (items: unknown[]) => items.map(project());
    expect(projected(page.items())).toEqual(projected(json.items()));
  });

  it('go on where the JSON goes on, at the same state of the cluster', () => {
    const { token, resourceVersion } = format.open('p', answer(body, protobufType));
    expect({ token, resourceVersion }).toEqual({
      token: json.token,
      resourceVersion: json.resourceVersion,
    });
  });

  it('are read as JSON when the server answers so', () => {
    const page = format.open('p', answer(fixture(`${name}.json`), 'application/json'));
    expect(page.items()).toEqual(json.items());
  });

  it('are refused wherever the body is cut', () => {
    for (let end = 0; end < body.length; end += 97) {
      const cut = body.subarray(0, end);
      expect(() => format.open('p', answer(cut, protobufType)).items()).toThrow(KubernetesError);
    }
  });

  it('are refused when they come without a list', () => {
    // The envelope alone, and one around a message that does not begin with the list's metadata.
    for (const rest of [[], [0x12, 0x00], [0x12, 0x02, 0x12, 0x00]]) {
      const bare = Buffer.concat([Buffer.from('k8s\0'), Buffer.from(rest)]);
      expect(() => format.open('p', answer(bare, protobufType))).toThrow(/is not a list/);
    }
  });

  it('are refused when it is not protobuf that was sent', () => {
    const html = Buffer.from('<html>');
    expect(() => format.open('p', answer(html, protobufType))).toThrow(/is not a list/);
  });
});

describe('a table of pods', () => {
  const open = (table: object) =>
    podTableFormat.open('p', answer(Buffer.from(JSON.stringify(table)), 'application/json'));
  const table = JSON.parse(fixture('pods-table.json').toString());

  it('has a row for each pod', () => {
    const pods = JSON.parse(fixture('pods.json').toString()) as {
      items: { metadata: { name: string }; spec: { nodeName?: string } }[];
    };
    const rows = open(table).items() as PodRow[];
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

  it('says where it goes on', () => {
    const { token, resourceVersion } = open(table);
    expect(token).toBe(table.metadata.continue);
    expect(resourceVersion).toBe(table.metadata.resourceVersion);
  });

  it('finds columns by name', () => {
    const reversed = {
      ...table,
      columnDefinitions: table.columnDefinitions.toReversed(),
      rows: table.rows.map(({ cells }: { cells: string[] }) => ({ cells: cells.toReversed() })),
    };
    expect(open(reversed).items()).toEqual(open(table).items());
  });

  it('may be empty, or have holes that say nothing', () => {
    expect(open({ ...table, rows: null }).items()).toEqual([]);
    const holes = [null, { cells: null }, {}];
    for (const row of open({ ...table, rows: holes }).items() as PodRow[]) {
      expect(row.node).toBeUndefined();
    }
  });

  it.each([
    ['a list of pods', { kind: 'PodList', items: [] }],
    ['no object', null],
    ['a table with rows that are none', { ...table, rows: 'many' }],
    ['a table without the column that names the node', { ...table, columnDefinitions: [] }],
  ])('is none when the answer is %s', (_what, body) => {
    expect(() => open(body as object)).toThrow(NoTableError);
  });
});
