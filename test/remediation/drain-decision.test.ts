import { describe, expect, it } from 'vitest';
import { defaultConfig } from '../../lib/config/load.ts';
import type { DrainBlocker } from '../../lib/remediation/drain.ts';
import { decideDrain } from '../../lib/remediation/drain-decision.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';

const now = Date.parse('2026-11-29T12:00:00Z');
const config = defaultConfig('prod', 'eu-west-1');
const state: WorkflowState = {
  cluster: 'prod',
  node: 'n2',
  nodeUid: 'u2',
  episode: 1,
  attempt: 1,
};

const blocker: DrainBlocker = {
  kind: 'budget',
  pod: { namespace: 'shop', name: 'api-0', uid: 'p1' },
  budgets: [],
  message: 'PodDisruptionBudget shop/api allows 0 disruptions (1 healthy, 1 needed)',
  since: now - 60_000,
};

function messageWith(blockers: DrainBlocker[]): string {
  const progress = {
    kind: 'draining',
    evicted: 0,
    remaining: 2,
    blockers,
    nextPollSeconds: 30,
  } as const;
  const result = decideDrain(progress, state, config, now);
  expect(result.next).toBe('draining');
  return result.message;
}

describe('a drain that goes on', () => {
  it('names what holds it up: pod, budget, what it allows, since when', () => {
    expect(messageWith([blocker])).toBe(
      '2 pods still to leave: shop/api-0 (PodDisruptionBudget shop/api allows 0 disruptions (1 healthy, 1 needed), since 2026-11-29T11:59:00Z)',
    );
  });

  it('only counts pods that are leaving by themselves', () => {
    expect(messageWith([])).toBe('2 pods still to leave');
  });
});
