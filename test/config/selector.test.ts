import { describe, expect, it } from 'vitest';
import { parseSelector, selectorMatches } from '../../lib/config/selector.ts';

function matches(selector: string, labels: Record<string, string>): boolean {
  const parsed = parseSelector(selector);
  if (!parsed.ok) throw new Error(parsed.message);
  return selectorMatches(parsed.requirements, labels);
}

describe('label selector', () => {
  it.each<[string, Record<string, string>, boolean]>([
    ['app=a', { app: 'a' }, true],
    ['app=a', { app: 'b' }, false],
    ['app=a', {}, false],
    ['app==a', { app: 'a' }, true],
    ['app = a', { app: 'a' }, true],
    ['app=', { app: '' }, true],
    ['app!=a', { app: 'b' }, true],
    ['app!=a', {}, true],
    ['app!=a', { app: 'a' }, false],
    ['app in (a,b)', { app: 'b' }, true],
    ['app in (a, b)', { app: 'c' }, false],
    ['app in (a)', {}, false],
    ['app notin (a,b)', { app: 'c' }, true],
    ['app notin (a,b)', {}, true],
    ['app notin (a,b)', { app: 'a' }, false],
    ['app', { app: '' }, true],
    ['app', {}, false],
    ['!app', {}, true],
    ['!app', { app: 'x' }, false],
    ['app in (a,b),tier!=x,!old,k8s.io/name', { app: 'a', 'k8s.io/name': 'n' }, true],
    ['app in (a,b),tier!=x', { app: 'a', tier: 'x' }, false],
    ['toString', {}, false],
    ['in in (in)', { in: 'in' }, true],
  ])('%s on %o is %s', (selector, labels, expected) => {
    expect(matches(selector, labels)).toBe(expected);
  });

  it.each([
    ['', /every DaemonSet/],
    ['  ', /every DaemonSet/],
    ['a=b,', /term is missing at a comma/],
    ['a in (b', /parentheses do not match/],
    ['a in b)', /parentheses do not match/],
    ['a in ((b))', /parentheses do not match/],
    ['a=b=c', /not a selector term/],
    ['a b', /not a selector term/],
    ['a=-b', /"-b" is not a valid label value/],
    ['-a', /"-a" is not a valid label key/],
    ['a/b/c', /not a valid label key/],
    ['A_B/c', /not a valid label key/],
    [`a=${'x'.repeat(64)}`, /not a valid label value/],
  ])('refuses "%s"', (selector, message) => {
    expect(parseSelector(selector)).toEqual({
      ok: false,
      message: expect.stringMatching(message),
    });
  });
});
