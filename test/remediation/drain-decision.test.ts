import { describe, expect, it } from 'vitest';
import { defaultConfig } from '../../lib/config/load.ts';
import { decideDrain, drainStart, isDrainOver } from '../../lib/remediation/drain-decision.ts';
import type {
  DrainBlocker,
  Draining,
  DrainProgress,
  GuardRefusal,
} from '../../lib/remediation/drain-model.ts';
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
  const progress = draining({ remaining: 2, blockers });
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

const minute = 60_000;

function draining(overrides: Partial<Draining> = {}): Draining {
  return {
    kind: 'draining',
    evicted: 0,
    remaining: 1,
    blockers: [],
    heldBack: 0,
    leaving: [],
    nextPollSeconds: 30,
    forced: false,
    untried: 0,
    volumes: [],
    ...overrides,
  };
}

/** A pod that is within its grace for `minutes` more. */
function leavingFor(minutes: number): Draining['leaving'] {
  return [{ pod: { namespace: 'shop', name: 'slow', uid: 'p9' }, until: now + minutes * minute }];
}

/** A drain that began `minutes` ago. */
function begun(minutes: number, overrides: Partial<WorkflowState['drain']> = {}): WorkflowState {
  return {
    ...state,
    taint: { next: 'tainted', code: 'tainted', message: '', turnedBack: 0 },
    drain: {
      next: 'draining',
      code: 'draining',
      message: '',
      firstAt: now - minutes * minute,
      startedAt: now - minutes * minute,
      drainedAt: 0,
      passes: 3,
      healthySince: 0,
      remaining: 1,
      waitSeconds: 30,
      approvalSeconds: 1,
      ...overrides,
    },
  };
}

describe('decideDrain', () => {
  const stuck: DrainBlocker = { ...blocker, kind: 'stuck-terminating' };
  const several: DrainBlocker = { ...blocker, kind: 'several-budgets' };
  const bare: DrainBlocker = { ...blocker, kind: 'needs-approval' };
  const table: [string, DrainProgress, WorkflowState, object][] = [
    [
      'goes on before its time is over',
      draining({ blockers: [blocker] }),
      begun(29),
      { next: 'draining' },
    ],
    [
      'is blocked when its time is over',
      draining({ blockers: [blocker] }),
      begun(30),
      { next: 'blocked', code: 'drain-blocked' },
    ],
    [
      'is blocked at once by what only a person can move',
      draining({ remaining: 2, blockers: [several, bare] }),
      begun(1),
      { next: 'blocked' },
    ],
    [
      'goes on while something else may still move',
      draining({ remaining: 2, blockers: [bare] }),
      begun(1),
      { next: 'draining' },
    ],
    [
      'waits for pods within their own grace',
      draining({ leaving: leavingFor(60) }),
      begun(45),
      { next: 'draining' },
    ],
    [
      'ends a minute after that grace',
      draining({ leaving: leavingFor(-1) }),
      begun(45),
      { next: 'blocked' },
    ],
    [
      'is not stretched for a pod that is stuck',
      draining({ leaving: leavingFor(1), blockers: [stuck] }),
      begun(30),
      { next: 'blocked' },
    ],
    [
      'is done',
      { kind: 'drained', evicted: 1, volumes: [] },
      begun(5),
      { next: 'drained', drainedAt: now },
    ],
    [
      'looks again when it was drained for room',
      { kind: 'drained', evicted: 1, volumes: [] },
      state,
      { next: 'recheck', code: 'drained-for-room' },
    ],
    [
      'ends with a node that is gone',
      { kind: 'node-gone' },
      begun(5),
      { next: 'release', code: 'node-gone' },
    ],
    [
      'ends with a node of the same name',
      { kind: 'node-recreated', uid: 'x' },
      begun(5),
      { next: 'release', code: 'node-recreated' },
    ],
  ];
  it.each(table)('%s', (_name, progress, before, expected) => {
    expect(decideDrain(progress, before, config, now)).toMatchObject(expected);
  });

  it('begins with its first pass, and not when that is over: a new node may have come by then', () => {
    const passBegan = now - 20_000;
    const tainted = { ...begun(0), drain: undefined };
    expect(decideDrain(draining(), tainted, config, now, false, passBegan)).toMatchObject({
      firstAt: passBegan,
      startedAt: passBegan,
      passes: 1,
    });
    expect(decideDrain(draining(), begun(5), config, now, false, passBegan)).toMatchObject({
      firstAt: now - 5 * minute,
      startedAt: now - 5 * minute,
      passes: 4,
    });
  });

  it('asks about an orphan that is held back by others, at once when only a person helps', () => {
    const progress = draining({ remaining: 2, blockers: [bare], heldBack: 1 });
    expect(decideDrain(progress, begun(1), config, now).next).toBe('blocked');
  });

  it('R33: asks at once about pods that a dead kubelet does not end', () => {
    const silent: DrainBlocker = { ...blocker, kind: 'kubelet-silent' };
    expect(decideDrain(draining({ blockers: [silent] }), begun(3), config, now)).toMatchObject({
      next: 'blocked',
      message: expect.stringContaining('shop/api-0'),
    });
  });

  it('goes on at once when two observers agree that the node is dead, and only its end helps', () => {
    const silent: DrainBlocker = { ...blocker, kind: 'kubelet-silent' };
    const decided = (progress: DrainProgress, policy = config) =>
      decideDrain(progress, begun(3), policy, now, true);
    expect(decided(draining({ blockers: [silent] }))).toMatchObject({
      next: 'drained',
      code: 'drain-incomplete',
    });
    const held = draining({ remaining: 2, blockers: [silent], heldBack: 1 });
    expect(decided(held).next).toBe('drained');
    // Anything else that is left is asked about, or waited for, as ever.
    expect(decided(draining({ remaining: 2, blockers: [silent, bare] })).next).toBe('blocked');
    expect(decided(draining({ remaining: 2, blockers: [silent] })).next).toBe('draining');
    expect(decided(draining({ blockers: [bare] })).next).toBe('blocked');
    expect(decided(draining({ blockers: [] })).next).toBe('draining');
  });

  it('C84: names the pods within their grace, and waits for them at most 12 hours', () => {
    const leaving = leavingFor(24 * 60);
    const decided = (hours: number) =>
      decideDrain(draining({ leaving }), begun(hours * 60), config, now);
    expect(decided(11.9)).toMatchObject({
      next: 'draining',
      message: '1 pod still to leave: shop/slow (within its grace until 2026-11-30T12:00:00Z)',
    });
    expect(decided(12).next).toBe('blocked');
  });

  describe('under atDeadline: proceed', () => {
    const proceed: typeof config = { ...config, drain: { ...config.drain, atDeadline: 'proceed' } };
    const left = draining({ blockers: [blocker] });

    it('goes on to the replacement with what is left, which it names', () => {
      expect(decideDrain(left, begun(29), proceed, now).next).toBe('draining');
      expect(decideDrain(left, begun(30), proceed, now)).toMatchObject({
        next: 'drained',
        code: 'drain-incomplete',
        remaining: 1,
        message: expect.stringMatching(/^going on with what is left: 1 pod .*shop\/api-0/),
      });
    });

    it('asks nobody, but uses its time', () => {
      expect(decideDrain(draining({ blockers: [bare] }), begun(1), proceed, now).next).toBe(
        'draining',
      );
    });

    it('goes on at once when only the end of the machine helps', () => {
      const silent: DrainBlocker = { ...blocker, kind: 'kubelet-silent' };
      expect(decideDrain(draining({ blockers: [silent] }), begun(3), proceed, now)).toMatchObject({
        next: 'drained',
        code: 'drain-incomplete',
      });
    });

    it('waits for pods within their own grace, also beside blockers', () => {
      const progress = draining({ remaining: 2, blockers: [blocker], leaving: leavingFor(10) });
      expect(decideDrain(progress, begun(35), proceed, now).next).toBe('draining');
      expect(decideDrain(progress, begun(35), config, now).next).toBe('blocked');
    });

    it('waits for the volumes of the pods that left', () => {
      const hanging = draining({ blockers: [blocker], volumes: ['pv-a'] });
      expect(decideDrain(hanging, begun(30), proceed, now)).toMatchObject({
        next: 'draining',
        code: 'volumes-attached',
      });
    });

    it('looks again after a drain for room', () => {
      const { taint: _taint, ...before } = begun(30);
      expect(decideDrain(left, before, proceed, now)).toMatchObject({
        next: 'recheck',
        code: 'drain-incomplete',
      });
    });
  });

  describe('under drain.force', () => {
    const force: typeof config = {
      ...config,
      drain: { ...config.drain, force: { pods: ['budget'], grace: 'own' } },
    };

    it.each<[string, Partial<Draining>, number, string]>([
      ['uses its time before a person is asked', { blockers: [several] }, 1, 'draining'],
      ['makes a pass that forces', { blockers: [blocker] }, 30, 'draining'],
      ['goes on while some were not tried', { forced: true, untried: 2 }, 45, 'draining'],
      ['ends after its time once more', { forced: true, untried: 2 }, 60, 'blocked'],
      [
        'waits for what it deleted',
        { forced: true, blockers: [bare], leaving: leavingFor(1), remaining: 2 },
        31,
        'draining',
      ],
      ['asks about what it may not delete', { forced: true, blockers: [bare] }, 31, 'blocked'],
    ])('%s', (_title, parts, minutes, next) => {
      const progress = draining(parts);
      expect(decideDrain(progress, begun(minutes), force, now).next).toBe(next);
    });

    it('looks as often as configured while it deletes', () => {
      const progress = draining({ forced: true, untried: 2 });
      expect(decideDrain(progress, begun(45), force, now).waitSeconds).toBe(30);
    });
  });

  describe('with volumes still attached', () => {
    const hanging: DrainProgress = { kind: 'drained', evicted: 0, volumes: ['pv-a', 'pv-b'] };
    const waiting = (seconds: number) =>
      begun(20, { code: 'volumes-attached', leftAt: now - seconds * 1000 });

    it('C85: waits for them, and names them', () => {
      expect(decideDrain(hanging, begun(5), config, now)).toMatchObject({
        next: 'draining',
        code: 'volumes-attached',
        message: 'volumes still attached, though their pods have left: pv-a, pv-b',
        leftAt: now,
      });
      expect(decideDrain(hanging, waiting(299), config, now)).toMatchObject({
        next: 'draining',
        waitSeconds: 1,
        leftAt: now - 299_000,
      });
    });

    it('C85: goes on when the time for them is over, and says so', () => {
      expect(decideDrain(hanging, waiting(300), config, now)).toMatchObject({
        next: 'drained',
        code: 'drained-with-volumes',
        message: expect.stringContaining('pv-a, pv-b'),
      });
    });

    it('goes on when they are detached', () => {
      const free: DrainProgress = { ...hanging, volumes: [] };
      expect(decideDrain(free, waiting(60), config, now)).toMatchObject({
        next: 'drained',
        code: 'drained',
      });
    });

    it('counts anew in a later drain', () => {
      const later = begun(20, { next: 'drained', code: 'drained-with-volumes', leftAt: 1 });
      expect(decideDrain(hanging, later, config, now)).toMatchObject({ leftAt: now });
    });

    it('does not wait in a drain for room', () => {
      expect(decideDrain(hanging, state, config, now).next).toBe('recheck');
    });
  });

  it('asks nobody under the policy never', () => {
    const never = { ...config, approvals: { ...config.approvals, policy: 'never' as const } };
    expect(decideDrain(draining({ blockers: [blocker] }), begun(30), never, now)).toMatchObject({
      next: 'stay-isolated',
      code: 'drain-blocked',
    });
  });

  it('looks less often the longer it waits, and not past its deadline', () => {
    const waitAfter = (minutes: number) =>
      decideDrain(draining({ blockers: [blocker] }), begun(minutes), config, now).waitSeconds;
    expect([0, 4, 16, 29].map(waitAfter)).toEqual([30, 30, 120, 60]);
  });

  it('waits as long as the server asks', () => {
    const progress = draining({ nextPollSeconds: 90 });
    expect(decideDrain(progress, begun(1), config, now).waitSeconds).toBe(90);
  });

  describe('when the guard says no', () => {
    const refuse = (refusal: Partial<GuardRefusal>, before = begun(5)) =>
      decideDrain(
        { kind: 'refused', evicted: 0, refusal: { code: 'x', message: 'because', ...refusal } },
        before,
        config,
        now,
      );

    it('releases the node, and names the scope of a breaker', () => {
      const scope = { kind: 'pool' as const, name: 'general' };
      expect(refuse({ scope })).toMatchObject({
        next: 'release',
        code: 'x',
        scopeKind: 'pool',
        scopeName: 'general',
      });
    });

    it('evicts nothing while the node is healthy, and releases it after hold-up', () => {
      const first = refuse({ passing: 'healthy' });
      expect(first).toMatchObject({ next: 'draining', code: 'hold-up', healthySince: now });
      const since = (ms: number) => begun(5, { healthySince: now - ms });
      expect(refuse({ passing: 'healthy' }, since(119_000)).next).toBe('draining');
      expect(refuse({ passing: 'healthy' }, since(120_000))).toMatchObject({
        next: 'release',
        code: 'recovered',
      });
    });

    it('does not cut hold-up short because the time of the drain is over', () => {
      expect(refuse({ passing: 'healthy' }, begun(60)).next).toBe('draining');
    });

    it('waits for what may pass, until the time of the drain is over', () => {
      expect(refuse({ passing: 'unripe' }).next).toBe('draining');
      expect(refuse({ passing: 'unripe' }, begun(30)).next).toBe('release');
      expect(refuse({ passing: 'doubt' }, begun(30)).next).toBe('stay-isolated');
    });

    it('leaves the node isolated when only that is allowed any more', () => {
      expect(refuse({ staysIsolated: true })).toMatchObject({ next: 'stay-isolated', code: 'x' });
    });
  });
});

describe('drainStart', () => {
  it('leaves out the time in which the guards let nothing be evicted', () => {
    const refusal: GuardRefusal = { code: 'claims-unreadable', message: '', passing: 'doubt' };
    const refused = (from: WorkflowState, at: number) =>
      decideDrain({ kind: 'refused', evicted: 0, refusal }, from, config, at);
    const first = refused(begun(5), now);
    expect(first).toMatchObject({ next: 'draining', startedAt: now - 5 * minute, heldSince: now });
    const later = refused({ ...state, drain: first }, now + 20 * minute);
    expect(later).toMatchObject({ startedAt: now - 5 * minute, heldSince: now });
    expect([first.waitSeconds, later.waitSeconds]).toEqual([30, 150]);
    const again = { ...state, drain: later };
    const resumed = now + 24 * minute;
    expect(drainStart(again, resumed)).toBe(resumed - 5 * minute);
    expect(isDrainOver(again, config.timings, resumed)).toBe(false);
    expect(decideDrain(draining(), again, config, resumed)).toMatchObject({
      next: 'draining',
      startedAt: resumed - 5 * minute,
    });
    // Without an end of the doubt it is a case for a person, as before.
    expect(refused(again, now + 25 * minute).next).toBe('stay-isolated');
  });

  it('goes on from a pass that was draining, and begins anew otherwise', () => {
    expect(drainStart(state, now)).toBe(now);
    expect(drainStart(begun(5), now)).toBe(now - 5 * minute);
    for (const next of ['blocked', 'recheck', 'drained'] as const) {
      expect(drainStart(begun(5, { next }), now)).toBe(now);
    }
  });

  it('keeps the time of the first drain, from which replacements count', () => {
    const again = begun(5, { next: 'blocked', firstAt: now - 720 * minute });
    expect(decideDrain(draining(), again, config, now)).toMatchObject({
      firstAt: now - 720 * minute,
      startedAt: now,
    });
  });
});
