import { describe, expect, it } from 'vitest';
import { readManifests } from '../../../lib/prevention/sources/manifests.ts';

const read = (text: string, file = 'a.yaml') => readManifests([{ file, text }]);

describe('readManifests', () => {
  it('gives every object with the line it begins at', () => {
    const { objects } = read(
      [
        '# of the team',
        'apiVersion: v1',
        'kind: ConfigMap',
        'metadata: { name: a }',
        '---',
        '',
        'apiVersion: v1',
        'kind: Secret',
        'metadata: { name: b }',
      ].join('\n'),
    );
    expect(objects.map(({ raw, origin }) => [raw.kind, origin])).toEqual([
      ['ConfigMap', { kind: 'file', file: 'a.yaml', line: 2 }],
      ['Secret', { kind: 'file', file: 'a.yaml', line: 7 }],
    ]);
  });

  it('looks into lists, and knows where each of their items stands', () => {
    const items = ['A', 'B'].map((kind) => `  - apiVersion: v1\n    kind: ${kind}\n`).join('');
    const { objects } = read(`apiVersion: v1\nkind: List\nitems:\n${items}`);
    expect(objects.map(({ raw, origin }) => [raw.kind, origin])).toEqual([
      ['A', { kind: 'file', file: 'a.yaml', line: 4 }],
      ['B', { kind: 'file', file: 'a.yaml', line: 6 }],
    ]);
  });

  it('reads JSON', () => {
    const { objects } = read('{"apiVersion": "v1", "kind": "Pod"}', 'a.json');
    expect(objects).toHaveLength(1);
  });

  it('resolves anchors', () => {
    const { objects } = read(
      'apiVersion: v1\nkind: A\nmetadata: &m { name: x }\nspec: { copy: *m }',
    );
    expect(objects[0]?.raw.spec).toEqual({ copy: { name: 'x' } });
  });

  it.each([
    ['values', 'replicas: 3'],
    ['a patch by paths', '- op: remove\n  path: /spec'],
    ['a text', 'hello'],
    ['nothing', ''],
    ['a comment', '# nothing'],
    ['a kind without a version', 'kind: Whatever'],
  ])('passes over %s', (_, text) => {
    expect(read(text)).toEqual({ objects: [], templates: [] });
  });

  it('names templates instead of failing on them', () => {
    const text = 'apiVersion: v1\nkind: A\n{{- if .Values.x }}\nspec: {}\n{{- end }}';
    expect(read(text, 'chart/a.yaml')).toEqual({ objects: [], templates: ['chart/a.yaml'] });
  });

  it('says where a document is broken', () => {
    expect(() => read('apiVersion: v1\nkind: A\nspec: {a: [1}', 'apps/a.yaml')).toThrow(
      /^apps\/a\.yaml:3: not valid YAML: /,
    );
  });
});
