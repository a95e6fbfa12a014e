import { afterEach, describe, expect, it } from 'vitest';
import { Stage, type StageOptions } from './stage.ts';

const stages: Stage[] = [];
afterEach(async () => {
  await Promise.all(stages.splice(0).map((stage) => stage.close()));
});

async function opened(options: StageOptions = {}, healthy = false) {
  const stage = new Stage(options);
  stages.push(stage);
  const bad = await stage.open(options, healthy ? undefined : { kind: 'sandbox' });
  return { stage, bad };
}

describe('nodegap remediate', () => {
  it('repairs a node of Karpenter from the first scan to the verified replacement', async () => {
    const { stage, bad } = await opened();
    const { code, out, err } = await stage.run(['remediate', bad]);
    expect(err).toContain('waits (unconfirmed)');
    expect(out).toMatch(/is gone; .* took its place with every required DaemonSet Ready/);
    expect(code).toBe(0);
    expect(stage.node(bad)).toBeUndefined();
    // Karpenter may have made one more for pods that waited for their place.
    const nodes = stage.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
    expect(nodes.length).toBeGreaterThanOrEqual(10);
    expect(nodes.filter((name) => stage.traces(name).length > 0)).toEqual([]);
    expect(stage.slots()).toEqual([]);
  }, 60_000);

  it('ends at once on a node without a fault, and changes nothing on it', async () => {
    const { stage, bad } = await opened({}, true);
    const { code, out } = await stage.run(['remediate', bad]);
    expect(out).toBe('nothing to do: every required DaemonSet is Ready on the node\n');
    expect(code).toBe(0);
    expect(stage.traces(bad)).toEqual([]);
  }, 60_000);
});
