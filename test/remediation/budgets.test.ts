import { describe, expect, it } from 'vitest';
import type { LabelSelector } from '../../lib/kubernetes/objects.ts';
import {
  budgetsOf,
  forecastEviction,
  labelSelectorMatches,
} from '../../lib/remediation/budgets.ts';
import { type BudgetParts, budget, type PodParts, pod } from './builders.ts';

describe('labelSelectorMatches', () => {
  const labels = { app: 'web', tier: '' };
  const expression = (key: string, operator: string, values?: string[]): LabelSelector => ({
    matchExpressions: [{ key, operator, ...(values === undefined ? {} : { values }) }],
  });

  it.each<[string, LabelSelector | null | undefined, boolean]>([
    ['{} matches every pod', {}, true],
    ['null matches none', null, false],
    ['an absent one matches none', undefined, false],
    ['equal labels', { matchLabels: { app: 'web' } }, true],
    ['an empty value', { matchLabels: { tier: '' } }, true],
    ['another value', { matchLabels: { app: 'api' } }, false],
    ['a label that is not there', { matchLabels: { owner: '' } }, false],
    ['every label must match', { matchLabels: { app: 'web', tier: 'x' } }, false],
    ['In', expression('app', 'In', ['api', 'web']), true],
    ['In without the label', expression('owner', 'In', ['x']), false],
    ['NotIn with another value', expression('app', 'NotIn', ['api']), true],
    ['NotIn with this value', expression('app', 'NotIn', ['web']), false],
    ['NotIn without the label', expression('owner', 'NotIn', ['x']), true],
    ['Exists', expression('tier', 'Exists'), true],
    ['Exists without the label', expression('owner', 'Exists'), false],
    ['DoesNotExist', expression('owner', 'DoesNotExist'), true],
    ['DoesNotExist with the label', expression('app', 'DoesNotExist'), false],
    [
      'labels and expressions together',
      { matchLabels: { app: 'web' }, ...expression('tier', 'DoesNotExist') },
      false,
    ],
    ['an unknown operator is not valid', expression('app', 'Gt', ['1']), false],
    ['In without values is not valid', expression('app', 'In', []), false],
    ['Exists with values is not valid', expression('app', 'Exists', ['web']), false],
    ['a name of Object.prototype', { matchLabels: { constructor: '' } }, false],
  ])('%s', (_title, selector, matches) => {
    expect(labelSelectorMatches(selector, labels)).toBe(matches);
  });
});

describe('budgetsOf', () => {
  it('takes those of the namespace whose selector matches', () => {
    const subject = pod('web-1', { labels: { app: 'web' } });
    const found = budgetsOf(subject, [
      budget('all'),
      budget('web', { selector: { matchLabels: { app: 'web' } } }),
      budget('api', { selector: { matchLabels: { app: 'api' } } }),
      budget('none', { selector: null }),
      budget('elsewhere', { namespace: 'other' }),
    ]);
    expect(found.map(({ metadata }) => metadata.name)).toEqual(['all', 'web']);
  });
});

describe('forecastEviction', () => {
  it.each<[string, PodParts, BudgetParts, string]>([
    ['room left', {}, { allowed: 1 }, 'allowed'],
    ['no room', {}, { allowed: 0 }, 'exhausted'],
    ['R26: a Pending pod', { phase: 'Pending', ready: false }, { allowed: 0 }, 'allowed'],
    ['a Failed pod', { phase: 'Failed', ready: false }, { allowed: 0 }, 'allowed'],
    [
      'a pod on its way out',
      { deletionTimestamp: '2026-11-29T12:00:20Z' },
      { allowed: 0 },
      'allowed',
    ],
    ['R27: unready, too few healthy', { ready: false }, { healthy: 0, desired: 1 }, 'exhausted'],
    ['R28: unready, enough healthy', { ready: false }, { healthy: 1, desired: 1 }, 'allowed'],
    ['unready, none desired', { ready: false }, { healthy: 0, desired: 0 }, 'exhausted'],
    [
      'R29: unready, AlwaysAllow',
      { ready: false },
      { policy: 'AlwaysAllow', healthy: 0, desired: 1 },
      'allowed',
    ],
    ['ready, AlwaysAllow', {}, { policy: 'AlwaysAllow' }, 'exhausted'],
    [
      'a budget that its controller has not seen yet',
      {},
      { allowed: 1, generation: 2, observed: 1 },
      'exhausted',
    ],
  ])('%s', (_title, podParts, budgetParts, kind) => {
    const forecast = forecastEviction(pod('web-1', podParts), [budget('web', budgetParts)]);
    expect(forecast.kind).toBe(kind);
  });

  it('allows what no budget covers', () => {
    expect(forecastEviction(pod('web-1'), [])).toEqual({ kind: 'allowed', counts: false });
  });

  it('names budget and room', () => {
    const covering = [budget('web', { allowed: 0, healthy: 1, desired: 2 })];
    expect(forecastEviction(pod('web-1'), covering)).toMatchObject({
      message: expect.stringContaining('shop/web allows 0 disruptions (1 healthy, 2 needed)'),
    });
  });

  it('C72: refuses several budgets even if all allow', () => {
    const covering = [budget('b', { allowed: 1 }), budget('a', { allowed: 1 })];
    expect(forecastEviction(pod('web-1'), covering)).toEqual({
      kind: 'several',
      message: expect.stringContaining('shop/a and shop/b'),
    });
  });
});
