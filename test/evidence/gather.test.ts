import { describe, expect, it } from 'vitest';
import type { Evidence } from '../../lib/evidence/document.ts';
import { gatherEvidence } from '../../lib/evidence/gather.ts';
import { actOn, gapOf, t0 } from '../remediation/samples.ts';

const state = { cluster: 'prod', node: 'n1', nodeUid: 'uid-n1', episode: 1, attempt: 1 };
const daemonPod = (uid: string) => ({
  metadata: { name: uid, uid, ownerReferences: [{ kind: 'DaemonSet' }] },
});

/** Each list of Events takes `listMs`. */
async function gather(options: {
  node?: Record<string, unknown> | undefined;
  listMs?: number;
}): Promise<{ evidence: Evidence; asked: string[] }> {
  const { listMs = 0 } = options;
  const node = 'node' in options ? options.node : { metadata: { name: 'n1', uid: 'uid-n1' } };
  let now = t0;
  const asked: string[] = [];
  const reads = {
    getNode: async () => node,
    listPodsOnNode: async () => ['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8'].map(daemonPod),
    getNodeClaim: async () => undefined,
  };
  const evidence = await gatherEvidence(
    {
      whole: reads,
      listEventsOf: async (uid: string) => {
        asked.push(uid);
        now += listMs;
        return [];
      },
    } as never,
    {
      loaded: { sha256: 'sha' },
      mark: { kind: 'none' },
      claim: { kind: 'none' },
      judgement: actOn(gapOf()),
    } as never,
    {
      state,
      execution: 'arn:execution',
      phase: 'drain',
      installation: 'i',
      version: '1',
      clock: { now: () => now },
    },
  );
  return { evidence, asked };
}

describe('what is gathered', () => {
  it('asks for the Events of the node, of what is at fault, and of its DaemonSet pods', async () => {
    const { evidence, asked } = await gather({});
    expect(asked).toEqual([
      'uid-n1',
      'n1',
      'uid-ds',
      ...['p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7', 'p8'],
    ]);
    expect(evidence.cut).toEqual([]);
  });

  it('takes no longer than a pass can bear from an API server that is slow with Events', async () => {
    const { evidence, asked } = await gather({ listMs: 4_000 });
    expect(asked.slice(0, 3)).toEqual(['uid-n1', 'n1', 'uid-ds']);
    expect(asked.length).toBeLessThan(6);
    expect(evidence.cut).toEqual([
      `the Events of ${11 - asked.length} objects, because listing them took more than 10 s`,
    ]);
  });

  it('is nothing of another node under the same name, nor of none', async () => {
    const other = { metadata: { name: 'n1', uid: 'uid-of-another' } };
    await expect(gather({ node: other })).rejects.toThrow(/n1 is not there any more/);
    await expect(gather({ node: undefined })).rejects.toThrow(/n1 is not there any more/);
  });
});
