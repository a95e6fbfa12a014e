/** nodegap and the API server do not agree on what time it is. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ControlPlane } from '../harness/control-plane.ts';
import { waitFor } from '../harness/wait.ts';
import { only, Scene } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { shapeOf } from '../support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes();
});
afterAll(() => cluster?.stop());

for (const [name, clockAheadBy] of Object.entries({ ahead: 60_000, behind: -60_000 })) {
  test.concurrent(`a clock that is a minute ${name} is told once, and nothing is done by it`, async () => {
    const scene = await Scene.make(cluster, { name });
    const [victim, witness] = await scene.victimAndWitness();
    await scene.break(victim.metadata.name, 'never-ready');
    const run = await scene.run({
      nodes: [victim.metadata.name],
      operator: { clockAheadBy },
      afterFirstScan: () => scene.witness(witness.metadata.name),
      meanwhile: async (_seen, operator) => {
        await waitFor(() => operator.notices.length > 0, { timeout: 180_000, what: 'the alert' });
        await operator.moreScans(15);
        expect(operator.attempts()).toEqual([]);
        await operator.request(victim);
      },
    });
    expect(only(run.ended)).toMatchObject({
      code: 'observer-unwell',
      tasks: ['ConfirmGap', 'Report'],
      message: expect.stringMatching(/^the clock here is (59|60|61) s or more (ahead of|behind) /),
    });
    const alert = only(run.notices.filter(({ kind }) => kind === 'alert'));
    expect(alert.body).toContain('set the clock');
    expect(shapeOf(await scene.node(victim.metadata.name))).toEqual(shapeOf(victim));
    expect(run.slots).toEqual([]);
    expect(run.writes.map(({ resource }) => resource)).toEqual(['events']);
    await scene.remove();
  });
}
