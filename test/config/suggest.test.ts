import { expect, it } from 'vitest';
import { nearest } from '../../lib/config/suggest.ts';

it.each<[string, string[], string | undefined]>([
  ['regoin', ['region', 'mode'], 'region'],
  ['hold-down', ['holdDown', 'holdUp'], 'holdDown'],
  ['HOLDUP', ['holdDown', 'holdUp'], 'holdUp'],
  ['mod', ['mode', 'name'], 'mode'],
  ['n9', ['n1', 'n2'], undefined],
  ['entirely-else', ['region', 'mode'], undefined],
  ['x', [], undefined],
])('finds for %s among %j: %s', (word, candidates, expected) => {
  expect(nearest(word, candidates)).toBe(expected);
});
