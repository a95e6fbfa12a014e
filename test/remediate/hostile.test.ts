/** What accidents and other people make of a node, of the state and of the network meanwhile. */
import { describe, expect, it } from 'vitest';
import { isolationAnnotation } from '../../lib/safety/ownership.ts';
import { Stage } from './stage.ts';

const never = 'approvals: {policy: never}';

async function withStage(tell: (stage: Stage, bad: string) => Promise<void>): Promise<void> {
  const stage = new Stage();
  try {
    await tell(stage, await stage.open({ yaml: never }, { kind: 'sandbox' }));
  } finally {
    await stage.close();
  }
}

async function killed(stage: Stage, bad: string, at: string): Promise<void> {
  const { signal, err } = await stage.run(['remediate', bad], { TEST_AT: at });
  expect(signal, err).toBe('SIGKILL');
}

describe.concurrent('after kill -9', () => {
  it('release frees the slot of a node that has come back as another one', async () => {
    await withStage(async (stage, bad) => {
      await killed(stage, bad, 'after isolate-node');
      stage.cluster.operations.registerAgain(bad);
      expect((await stage.command(['scan'])).err).toContain(`left over: ${bad}`);
      const released = await stage.command(['release', bad]);
      expect(released, released.err).toMatchObject({ code: 0 });
      expect(stage.slots()).toEqual([]);
      expect((await stage.command(['scan'])).err).not.toContain('left over');
    });
  }, 60_000);

  it('--resume frees the slot of a node that has come back as another one', async () => {
    await withStage(async (stage, bad) => {
      await killed(stage, bad, 'after isolate-node');
      stage.cluster.operations.registerAgain(bad);
      const resumed = await stage.command(['remediate', bad, '--resume']);
      expect(resumed, resumed.err).toMatchObject({ code: 0 });
      expect(stage.slots()).toEqual([]);
    });
  }, 60_000);

  it('--resume frees the slot of a node that is gone', async () => {
    await withStage(async (stage, bad) => {
      await killed(stage, bad, 'after isolate-node');
      stage.cluster.operations.removeNode(bad);
      const resumed = await stage.command(['remediate', bad, '--resume']);
      expect(resumed, resumed.err).toMatchObject({ code: 0 });
      expect(stage.slots()).toEqual([]);
    });
  }, 60_000);

  it('release gives the slot back of a node that another installation has marked since', async () => {
    await withStage(async (stage, bad) => {
      await killed(stage, bad, 'after acquire-slot');
      const mark = {
        installation: '111122223333/eu-west-1/nodegap',
        execution: 'arn:aws:states:eu-west-1:111122223333:execution:x:y',
        episode: 1,
        attempt: 1,
        cordoned: true,
        tainted: false,
        at: '2026-11-29T11:00:00Z',
      };
      await stage.patchNode(bad, {
        metadata: { annotations: { [isolationAnnotation]: JSON.stringify(mark) } },
        spec: { unschedulable: true },
      });
      const released = await stage.command(['release', bad]);
      expect(released.code).toBe(2);
      expect(released.out).toContain('isolated by another installation');
      expect(stage.traces(bad)).toEqual(['mark', 'cordon']);
      expect(stage.slots()).toEqual([]);
      expect((await stage.command(['scan'])).err).not.toContain('left over');
    });
  }, 60_000);

  it('release of a node that a person has uncordoned takes the mark off and nothing else', async () => {
    await withStage(async (stage, bad) => {
      await killed(stage, bad, 'after isolate-node');
      await stage.patchNode(bad, { spec: { unschedulable: null } });
      const released = await stage.command(['release', bad]);
      expect(released, released.err).toMatchObject({ code: 0 });
      expect(stage.traces(bad)).toEqual([]);
      expect(stage.slots()).toEqual([]);
    });
  }, 60_000);

  it('a Lease with unreadable content disturbs no scan, and its data stays data', async () => {
    await withStage(async (stage, bad) => {
      await killed(stage, bad, 'after isolate-node');
      await corruptSlot(stage);
      const { err, out } = await stage.command(['scan', '-o', 'json']);
      expect(JSON.parse(out)).toHaveProperty('gaps');
      expect(err).toContain('left over');
    });
  }, 60_000);
});

/** Writes nonsense into the only slot. */
async function corruptSlot(stage: Stage): Promise<void> {
  const [lease] = stage.cluster
    .list('leases')
    .filter(({ metadata }) => metadata.annotations?.['nodegap.dev/slot'] !== undefined);
  if (lease === undefined) throw new Error('there is no slot');
  const annotations = { 'nodegap.dev/slot': 'nonsense' };
  const changed = { ...lease, metadata: { ...lease.metadata, annotations } };
  const path = '/apis/coordination.k8s.io/v1/namespaces/nodegap/leases';
  await stage.send('PUT', `${path}/${lease.metadata.name}`, changed);
}

describe.concurrent('a node that is not there', () => {
  it.each([
    { command: 'remediate', exitCode: 1 },
    { command: 'release', exitCode: 0 },
  ])(
    'nodegap $command of it writes nothing',
    async ({ command, exitCode }) => {
      await withStage(async (stage, bad) => {
        const { code, err, out } = await stage.command([command, bad.slice(0, -1)]);
        expect(err + out).toContain('there is no node');
        expect(code).toBe(exitCode);
        expect(stage.writes()).toEqual([]);
      });
    },
    60_000,
  );
});
