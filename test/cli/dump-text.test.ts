import { describe, expect, it } from 'vitest';
import { parseDump } from '../../cli/dump-text.ts';

const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' } };
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p1' } };
const list = (...items: unknown[]) => ({ apiVersion: 'v1', kind: 'List', items });

function itemsOf(...texts: string[]): unknown[] {
  return parseDump(texts.map((text, index) => ({ name: `piece${index}`, text }))).items;
}

describe('parseDump', () => {
  it.each<[string, string[]]>([
    ['one list', [JSON.stringify(list(node, pod))]],
    ['two files', [JSON.stringify(list(node)), JSON.stringify(list(pod))]],
    [
      'lists one after the other',
      [`${JSON.stringify(list(node))}\n${JSON.stringify(list(pod))}\n`],
    ],
    ['indented lists without a break', [JSON.stringify(list(node), null, 2) + JSON.stringify(pod)]],
    ['lists in a list', [JSON.stringify(list(list(node), pod))]],
    ['single objects', [JSON.stringify(node), JSON.stringify(pod)]],
    ['an array', [JSON.stringify([node, pod])]],
    ['a byte order mark', [`\uFEFF${JSON.stringify(list(node, pod))}`]],
    [
      'YAML documents',
      [
        'apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p1}\n',
      ],
    ],
    [
      'typed lists whose items say no kind',
      [
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'NodeList',
          items: [{ metadata: { name: 'n1' } }],
        }),
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'PodList',
          items: [{ metadata: { name: 'p1' } }],
        }),
      ],
    ],
  ])('reads %s', (_what, texts) => {
    expect(itemsOf(...texts)).toEqual([node, pod]);
  });

  it('is not confused by braces and quotes inside strings', () => {
    const odd = { ...pod, metadata: { name: 'p1', annotations: { a: '}{ "\\" [' } } };
    expect(itemsOf(`${JSON.stringify(odd)} ${JSON.stringify(node)}`)).toEqual([odd, node]);
  });

  it.each<[string, string, RegExp]>([
    ['an empty file', ' \n', /piece0 is empty/],
    ['a file that is cut off', JSON.stringify(list(node, pod)).slice(0, -20), /cut off/],
    ['a second list that is cut off', `${JSON.stringify(node)}{"kind":`, /cut off/],
    ['something else after the list', `${JSON.stringify(node)} and more`, /not valid JSON/],
    ['plain text', 'No resources found\n', /holds no Kubernetes objects/],
    ['broken YAML', 'a: b: c\n', /neither JSON nor YAML/],
    ['objects of another kind', '{"foo": 1}', /holds no Kubernetes objects/],
    [
      'the first page of a list',
      '{"kind":"PodList","apiVersion":"v1","metadata":{"continue":"abc"},"items":[]}',
      /only the first page of a PodList/,
    ],
  ])('refuses %s', (_what, text, expected) => {
    expect(() => itemsOf(text)).toThrow(expected);
  });
});
