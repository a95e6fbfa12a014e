import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyJsonPatch,
  applyMergePatch,
  type Json,
  MalformedPatch,
  PatchMismatch,
  sameJson,
} from '../../local/cluster/api/json-patch.ts';

describe('JSON patch (RFC 6902)', () => {
  it.each<[name: string, document: Json, patch: Json, result: Json]>([
    ['adds a member', { a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    ['adds over a member', { a: 1 }, [{ op: 'add', path: '/a', value: 2 }], { a: 2 }],
    [
      'adds before an element',
      { a: [1, 3] },
      [{ op: 'add', path: '/a/1', value: 2 }],
      { a: [1, 2, 3] },
    ],
    [
      'adds at the end by index',
      { a: [1] },
      [{ op: 'add', path: '/a/1', value: 2 }],
      { a: [1, 2] },
    ],
    [
      'adds at the end by -',
      { a: [1] },
      [{ op: 'add', path: '/a/-', value: [2] }],
      { a: [1, [2]] },
    ],
    ['adds the whole document', { a: 1 }, [{ op: 'add', path: '', value: { b: 1 } }], { b: 1 }],
    ['removes a member', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    ['removes an element', { a: [1, 2, 3] }, [{ op: 'remove', path: '/a/1' }], { a: [1, 3] }],
    ['replaces a member', { a: 1 }, [{ op: 'replace', path: '/a', value: null }], { a: null }],
    [
      'replaces an element',
      { a: [1, 2] },
      [{ op: 'replace', path: '/a/0', value: 9 }],
      { a: [9, 2] },
    ],
    ['replaces the document', { a: 1 }, [{ op: 'replace', path: '', value: 5 }], 5],
    [
      'moves',
      { a: { x: 1 }, b: {} },
      [{ op: 'move', from: '/a/x', path: '/b/y' }],
      { a: {}, b: { y: 1 } },
    ],
    [
      'copies',
      { a: { x: 1 } },
      [{ op: 'copy', from: '/a', path: '/b' }],
      { a: { x: 1 }, b: { x: 1 } },
    ],
    ['tests a number', { a: 1 }, [{ op: 'test', path: '/a', value: 1 }], { a: 1 }],
    [
      'tests whatever the key order',
      { a: { x: 1, y: 2 } },
      [{ op: 'test', path: '/a', value: { y: 2, x: 1 } }],
      { a: { x: 1, y: 2 } },
    ],
    [
      'takes null for an absent member in a test',
      {},
      [{ op: 'test', path: '/a', value: null }],
      {},
    ],
    [
      'unescapes ~1 and ~0',
      { 'a/b': 1, 'm~n': 2 },
      [
        { op: 'test', path: '/a~1b', value: 1 },
        { op: 'remove', path: '/m~0n' },
      ],
      { 'a/b': 1 },
    ],
    ['unescapes ~01 to ~1', { '~1': 1 }, [{ op: 'test', path: '/~01', value: 1 }], { '~1': 1 }],
    ['reads the empty key', { '': 1 }, [{ op: 'test', path: '/', value: 1 }], { '': 1 }],
  ])('%s', (_name, document, patch, result) => {
    expect(applyJsonPatch(document, patch)).toEqual(result);
  });

  it.each<[name: string, document: Json, patch: Json]>([
    ['a test of another value', { a: 1 }, [{ op: 'test', path: '/a', value: 2 }]],
    ['a test of a string against a number', { a: 1 }, [{ op: 'test', path: '/a', value: '1' }]],
    ['a test of [] against nothing', {}, [{ op: 'test', path: '/a', value: [] }]],
    ['a test of another element order', { a: [1, 2] }, [{ op: 'test', path: '/a', value: [2, 1] }]],
    ['a test below something absent', {}, [{ op: 'test', path: '/a/b', value: null }]],
    ['a member of an absent parent', {}, [{ op: 'add', path: '/a/b', value: 1 }]],
    ['- of an absent array', {}, [{ op: 'add', path: '/a/-', value: 1 }]],
    ['an element beyond the end', { a: [1] }, [{ op: 'add', path: '/a/2', value: 1 }]],
    ['an index with a leading zero', { a: [1] }, [{ op: 'replace', path: '/a/00', value: 1 }]],
    ['a member of a number', { a: 1 }, [{ op: 'add', path: '/a/b', value: 1 }]],
    ['the removal of nothing', {}, [{ op: 'remove', path: '/a' }]],
    ['the replacement of nothing', {}, [{ op: 'replace', path: '/a', value: 1 }]],
    ['a move of nothing', {}, [{ op: 'move', from: '/a', path: '/b' }]],
  ])('refuses %s', (_name, document, patch) => {
    expect(() => applyJsonPatch(document, patch)).toThrow(PatchMismatch);
  });

  it.each<[name: string, patch: Json]>([
    ['no array', { op: 'add' }],
    ['no object', ['add']],
    ['an unknown operation', [{ op: 'upsert', path: '/a', value: 1 }]],
    ['no path', [{ op: 'add', value: 1 }]],
    ['a path without a slash', [{ op: 'add', path: 'a', value: 1 }]],
    ['no value', [{ op: 'add', path: '/a' }]],
    ['a move without from', [{ op: 'move', path: '/a' }]],
  ])('finds %s malformed', (_name, patch) => {
    expect(() => applyJsonPatch({}, patch)).toThrow(MalformedPatch);
  });

  it('applies all operations or none, and leaves the document alone', () => {
    const document = { a: { b: [1] } };
    const patch = [
      { op: 'add', path: '/a/b/-', value: 2 },
      { op: 'test', path: '/a/b', value: [1] },
    ];
    expect(() => applyJsonPatch(document, patch)).toThrow(PatchMismatch);
    applyJsonPatch(document, patch.slice(0, 1));
    expect(document).toEqual({ a: { b: [1] } });
  });

  it('keeps what it adds apart from the patch', () => {
    const value = { deep: [1] };
    const result = applyJsonPatch({}, [{ op: 'add', path: '/a', value }]) as { a: typeof value };
    result.a.deep.push(2);
    expect(value).toEqual({ deep: [1] });
  });

  it('undoes an add by a remove, and finds by test what it added, for any key and value', () => {
    const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1');
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (key, value) => {
        fc.pre(key !== '__proto__');
        const path = `/${escaped(key)}`;
        const document: Json = { [`${key}!`]: 1 };
        const added = applyJsonPatch(document, [
          { op: 'add', path, value: value as Json },
          { op: 'test', path, value: value as Json },
        ]);
        expect(applyJsonPatch(added, [{ op: 'remove', path }])).toEqual(document);
      }),
    );
  });
});

describe('JSON merge patch (RFC 7386)', () => {
  it.each<[target: Json | undefined, patch: Json, result: Json]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [undefined, 'x', 'x'],
  ])('%j with %j gives %j', (target, patch, result) => {
    expect(applyMergePatch(target, patch)).toEqual(result);
  });
});

describe('JSON equality', () => {
  it('agrees with a copy and not with a changed one', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = value as Json;
        expect(sameJson(json, structuredClone(json))).toBe(true);
        expect(sameJson({ wrapped: json }, { wrapped: json, more: 1 })).toBe(false);
      }),
    );
  });
});
