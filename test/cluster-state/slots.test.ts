import { expect, it } from 'vitest';
import { NodegapError } from '../../lib/errors.ts';
import { type SlotOutcome, Slots } from '../../lib/safety/slots.ts';
import { parallelLimits } from '../safety/contention.ts';
import { countsOf, slotRequest } from '../safety/samples.ts';
import { emptyCluster, openState, start } from './support.ts';
import { type Fate, Turns } from './turns.ts';

const nodes = Array.from({ length: 50 }, (_, n) => ({
  name: `n${n}`,
  pool: n % 2 === 0 ? 'p' : 'q',
  zone: `zone-${n % 3}`,
  unhealthy: true,
}));
const counts = countsOf({ nodes, percent: 100 });
const clock = { now: () => start };

it.each([1, 2])(
  '50 processes at once never take more slots than allowed (seed %i)',
  async (seed) => {
    const turns = new Turns(seed);
    const cluster = emptyCluster();
    const held = new Map<string, string>();
    const fences = new Set<number>();
    const refusals = new Set<string>();
    let most = 0;
    let answered = 0;
    let inPool = 0;

    const work = async (index: number): Promise<void> => {
      const { name, pool, zone } = nodes[index] ?? { name: '', pool: '', zone: '' };
      const fates: [number, Fate][] =
        index % 5 === 0
          ? [
              [12, 'answer-lost'],
              [17, 'late'],
            ]
          : [];
      const state = await openState(turns.transport(cluster.transport(), new Map(fates)), {
        pacing: turns.pacing,
        identity: name,
      });
      const slots = new Slots(
        state.table,
        clock,
        { ...parallelLimits, maxUnhealthyPercent: 100 },
        turns.pacing,
      );
      const request = slotRequest({ node: name, pool, zone, counts, countedAt: start });
      const outcome = await again(() => slots.acquire(request));
      answered += 1;
      if (outcome.kind !== 'acquired') {
        refusals.add(outcome.code);
        return;
      }
      expect(fences.has(outcome.fence), 'no fence is given out twice').toBe(false);
      fences.add(outcome.fence);
      held.set(name, pool);
      most = Math.max(most, held.size);
      inPool = Math.max(inPool, [...held.values()].filter((each) => each === pool).length);
      // Nobody gives back before everybody has been answered.
      while (answered < nodes.length) await turns.turn(50);
      expect(await state.leases.renew(request.nodeUid)).toBe('renewed');
      held.delete(name);
      expect(await again(() => slots.release(request))).toBe('released');
    };
    const all = Promise.all(nodes.map((_, index) => work(index)));
    await turns.run();
    await all;

    expect(most).toBe(parallelLimits.parallelPerCluster);
    expect(inPool).toBe(parallelLimits.parallelPerPool);
    expect(refusals).toContain('cluster-parallel-cap');
    const { table, leases } = await openState(cluster.transport());
    expect(await leases.list()).toEqual([]);
    for (const places of await table.query('cluster#prod', 'places#')) {
      expect(places.inWork).toBeUndefined();
    }
  },
  60_000,
);

/** As the machine does when a task fails with State.Contended. */
async function again<T extends SlotOutcome | string>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof NodegapError && error.code === 'State.Contended')) throw error;
    }
  }
}
