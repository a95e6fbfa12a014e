/** What a canary that is let go of means for the nodes after it. */
import { expect, it } from 'vitest';
import { Stage } from './stage.ts';

it('release lets another node be the canary, though the fault stays', async () => {
  const stage = new Stage();
  try {
    // Its pods elsewhere are older than the fault, so nothing shows whose it is.
    const bad = await stage.open({ yaml: 'approvals: {policy: never}' }, { kind: 'crash-loop' });
    const { signal, err } = await stage.run(['remediate', bad], { TEST_AT: 'after isolate-node' });
    expect(signal, err).toBe('SIGKILL');
    expect(canaries(stage)).toEqual([bad]);
    const released = await stage.command(['release', bad]);
    expect(released, released.err).toMatchObject({ code: 0 });
    expect(canaries(stage)).toEqual([]);
  } finally {
    await stage.close();
  }
}, 60_000);

/** Names of the nodes that are somebody's canary, by the ConfigMaps in the cluster. */
function canaries(stage: Stage): string[] {
  return stage.cluster
    .list('configmaps')
    .flatMap(({ data = {} }) => Object.entries(data))
    .filter(([key]) => key.startsWith('canary.'))
    .map(([, text]) => (JSON.parse(text) as { node: string }).node);
}
