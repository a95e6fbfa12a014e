import { expect, it } from 'vitest';
import { ageText } from '../../lib/report/age.ts';

const [s, m, h, d] = [1000, 60_000, 3_600_000, 86_400_000];

it.each([
  [-5 * s, '0s'],
  [0, '0s'],
  [45 * s, '45s'],
  [119 * s, '119s'],
  [2 * m, '2m'],
  [55 * m, '55m'],
  [179 * m, '179m'],
  [3 * h, '3h'],
  [3 * h + 20 * m, '3h20m'],
  [9 * h + 20 * m, '9h'],
  [47 * h, '47h'],
  [3 * d, '3d'],
  [400 * d, '400d'],
])('shows %i ms as %s', (ms, text) => {
  expect(ageText(ms)).toBe(text);
});
