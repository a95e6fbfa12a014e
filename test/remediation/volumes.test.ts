import { describe, expect, it } from 'vitest';
import { judgeVolumes, readIdleVolumes } from '../../lib/remediation/volumes.ts';
import { attachment, daemonSet, ownedBy, pod, volumeClaim } from './builders.ts';
import { FakeCluster } from './fake-cluster.ts';

function cluster(parts: Partial<FakeCluster>): FakeCluster {
  return Object.assign(new FakeCluster(), parts);
}

describe('readIdleVolumes', () => {
  it('C85: names the volumes of this node whose pods have left', async () => {
    const attachments = [attachment('pv-b'), attachment('pv-a'), attachment('pv-c', 'n2')];
    expect(await readIdleVolumes(cluster({ attachments }), 'n1')).toEqual(['pv-a', 'pv-b']);
  });

  it('passes over the volumes of pods that stay', async () => {
    const owner = ownedBy('DaemonSet', 'agent');
    const staying = pod('agent-x', { owner, claims: ['cache'] });
    const ephemeral = pod('agent-y', { owner });
    ephemeral.spec.volumes = [{ name: 'buffer', ephemeral: {} }];
    const found = await readIdleVolumes(
      cluster({
        daemonSets: [daemonSet('agent')],
        pods: [staying, ephemeral],
        volumeClaims: [volumeClaim('cache', 'pv-a'), volumeClaim('agent-y-buffer', 'pv-b')],
        attachments: [attachment('pv-a'), attachment('pv-b'), attachment('pv-c')],
      }),
      'n1',
    );
    expect(found).toEqual(['pv-c']);
  });

  it('waits for the volume of a pod that has finished or whose claim is gone', async () => {
    const found = await readIdleVolumes(
      cluster({
        pods: [
          pod('done', { phase: 'Succeeded', claims: ['work'] }),
          pod('odd', { claims: ['gone'] }),
        ],
        volumeClaims: [volumeClaim('work', 'pv-a')],
        attachments: [attachment('pv-a'), attachment('pv-b')],
      }),
      'n1',
    );
    expect(found).toEqual(['pv-a', 'pv-b']);
  });

  it('names the attachment of a volume that is described inline', async () => {
    const inline = attachment('pv-a');
    inline.spec.source = {};
    expect(await readIdleVolumes(cluster({ attachments: [inline] }), 'n1')).toEqual(['csi-pv-a']);
  });

  it('reads no pods when nothing is attached', async () => {
    const empty = cluster({});
    expect(await readIdleVolumes(empty, 'n1')).toEqual([]);
    expect(empty.calls).toEqual(['listVolumeAttachments']);
  });
});

describe('judgeVolumes', () => {
  const times = { since: 1_000_000, limitSeconds: 300, now: 1_000_000 };

  it.each([
    { volumes: [], passed: 0, kind: 'detached' },
    { volumes: [], passed: 999, kind: 'detached' },
    { volumes: ['pv-a'], passed: 299, kind: 'wait' },
    { volumes: ['pv-a'], passed: 300, kind: 'given-up' },
  ])('C85: $volumes after $passed s: $kind', ({ volumes, passed, kind }) => {
    const now = times.since + passed * 1000;
    expect(judgeVolumes(volumes, { ...times, now }).kind).toBe(kind);
  });

  it('does not wait at all when the configuration says so', () => {
    expect(judgeVolumes(['pv-a'], { ...times, limitSeconds: 0 }).kind).toBe('given-up');
  });

  it('names at most five volumes', () => {
    const volumes = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    expect(judgeVolumes(volumes, times)).toEqual({
      kind: 'wait',
      message: 'still attached, though their pods have left: a, b, c, d, e and 2 more',
    });
  });
});
