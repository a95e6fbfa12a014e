import { describe, expect, it } from 'vitest';
import { Timeline } from '../../local/cluster/timeline.ts';
import { minute, noon } from './cluster-helpers.ts';

function recorder() {
  const timeline = new Timeline(noon);
  const seen: string[] = [];
  return {
    timeline,
    seen,
    note: (name: string) => () => seen.push(`${name}@${timeline.now - noon}`),
  };
}

describe('the timeline', () => {
  it('carries out what is due in the order of time, whatever the order of planning', () => {
    const { timeline, seen, note } = recorder();
    for (const ms of [50, 10, 40, 20, 30, 5, 45]) timeline.after(ms, note(`e${ms}`));
    timeline.advanceTo(noon + 40);
    expect(seen).toEqual(['e5@5', 'e10@10', 'e20@20', 'e30@30', 'e40@40']);
    expect(timeline.now).toBe(noon + 40);
  });

  it('keeps the order of planning within one instant', () => {
    const { timeline, seen, note } = recorder();
    for (const name of ['a', 'b', 'c', 'd']) timeline.after(7, note(name));
    timeline.advanceTo(noon + 7);
    expect(seen).toEqual(['a@7', 'b@7', 'c@7', 'd@7']);
  });

  it('carries out what an action plans, when that is due as well', () => {
    const { timeline, seen, note } = recorder();
    timeline.after(10, () => timeline.after(5, note('child')));
    timeline.advanceTo(noon + 20);
    expect(seen).toEqual(['child@15']);
  });

  it('never goes back', () => {
    const { timeline, seen, note } = recorder();
    timeline.advanceTo(noon + 100);
    timeline.advanceTo(noon);
    expect(timeline.now).toBe(noon + 100);
    timeline.at(noon, note('late'));
    timeline.advanceTo(noon + 100);
    expect(seen).toEqual(['late@100']);
  });

  it('forgets what is withdrawn, and says what comes next', () => {
    const { timeline, seen, note } = recorder();
    const cancel = timeline.after(10, note('withdrawn'));
    timeline.after(20, note('kept'));
    expect(timeline.nextAt()).toBe(noon + 10);
    cancel();
    cancel();
    expect(timeline.nextAt()).toBe(noon + 20);
    timeline.advanceTo(noon + 30);
    expect(seen).toEqual(['kept@20']);
    expect(timeline.nextAt()).toBeUndefined();
  });

  it('settles when only routine is left and no work has come of it for a minute', () => {
    const { timeline, seen, note } = recorder();
    const beat = () => {
      timeline.after(10_000, beat, 'routine');
    };
    beat();
    timeline.after(30_000, note('work'));
    timeline.after(75_000, () => timeline.after(1_000, note('late work')), 'routine');
    timeline.after(600_000, note('far routine'), 'routine');
    timeline.settle();
    expect(seen).toEqual(['work@30000', 'late work@76000']);
    expect(timeline.now).toBeLessThan(noon + 3 * minute);
  });

  it('does not wait for work that was withdrawn', () => {
    const { timeline } = recorder();
    timeline.after(3_600_000, () => {})();
    timeline.settle();
    expect(timeline.now).toBe(noon);
  });

  it('throws when something never settles', () => {
    const { timeline } = recorder();
    const restless = () => {
      timeline.after(1_000, restless);
    };
    restless();
    expect(() => timeline.settle()).toThrow('did not settle within 240 virtual minutes');
  });
});
