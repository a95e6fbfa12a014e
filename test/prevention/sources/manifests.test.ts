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
    expect(read(text)).toMatchObject({ objects: [], templates: [] });
  });

  it('names templates instead of failing on them', () => {
    const text = 'apiVersion: v1\nkind: A\n{{- if .Values.x }}\nspec: {}\n{{- end }}';
    expect(read(text, 'chart/a.yaml')).toMatchObject({ objects: [], templates: ['chart/a.yaml'] });
  });

  it('says where a document is broken', () => {
    expect(() => read('apiVersion: v1\nkind: A\nspec: {a: [1}', 'apps/a.yaml')).toThrow(
      /^apps\/a\.yaml:3: not valid YAML: /,
    );
  });
});

describe('readManifests on repositories as they are', () => {
  it('merges << as the tools of Kubernetes do', () => {
    const { objects } = read('apiVersion: v1\nkind: A\nspec:\n  <<: { a: 1 }\n  b: 2');
    expect(objects[0]?.raw.spec).toEqual({ a: 1, b: 2 });
  });

  it('passes over broken files that hold no object', () => {
    const { objects, foreign } = read('{"a": 1}\n{"b": 2}', 'rows.json');
    expect(objects).toEqual([]);
    expect(foreign).toEqual(['rows.json']);
  });

  it('takes a file whose objects have no name of their own for a template', () => {
    const { objects, templates } = read(
      'apiVersion: v1\nkind: A\nmetadata: { name: "{{ .Release.Name }}" }',
    );
    expect(objects).toEqual([]);
    expect(templates).toEqual(['a.yaml']);
  });

  it('says where aliases have no end', () => {
    const levels = ['&a [x, x, x, x, x, x, x, x, x]'];
    for (const [from, to] of ['ab', 'bc', 'cd', 'de'].map((pair) => [...pair])) {
      levels.push(`&${to} [${Array(9).fill(`*${from}`).join(', ')}]`);
    }
    const text = levels.map((level, index) => `k${index}: ${level}`).join('\n');
    expect(() => read(`apiVersion: v1\nkind: A\n${text}`)).toThrow(
      'a.yaml:1: its aliases cannot be followed',
    );
  });

  it.each([
    ['kustomization.yaml', 'resources: [a.yaml]\nimages: [{ name: a, newTag: v1 }]', 1],
    ['base/kustomization.yml', 'patchesStrategicMerge: [a.yaml]', 1],
    ['kustomization.yaml', 'resources: [a.yaml]', 0],
    ['other.yaml', 'images: []', 0],
  ])('tells whether %s changes objects', (file, text, count) => {
    expect(read(text, file).kustomizations).toHaveLength(count);
  });
});
