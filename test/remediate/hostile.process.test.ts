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

/** A process on another computer that nobody sees any more. */
const elsewhere = 'ann@desk/7/aaaa.bbbb';

/** Makes the only slot that of a process on another computer, which renewed it for the last time. */
async function moveSlot(stage: Stage, renewTime: string): Promise<void> {
  await stage.editSlot(({ metadata, spec }) => {
    const { 'nodegap.dev/slot': text = '{}' } = metadata.annotations;
    const slot = JSON.parse(text);
    const name = slot.execution.split(':').at(-1);
    const moved = { ...slot, execution: `nodegap-cli:${elsewhere}:${name}` };
    metadata.annotations['nodegap.dev/slot'] = JSON.stringify(moved);
    spec.holderIdentity = elsewhere;
    spec.renewTime = renewTime;
  });
}

/** Writes nonsense into the only slot. */
async function corruptSlot(stage: Stage): Promise<void> {
  await stage.editSlot(({ metadata }) => {
    metadata.annotations['nodegap.dev/slot'] = 'nonsense';
  });
}

describe.concurrent('a slot of a process on another computer', () => {
  // A day ahead: clocks of computers differ, and that must not keep a node from being freed.
  it.each(['2026-11-29T11:00:00.000000Z', '2026-11-30T12:00:00.000000Z'])(
    'last renewed at %s by its clock, is watched, then freed',
    async (renewTime) => {
      await withStage(async (stage, bad) => {
        await killed(stage, bad, 'after isolate-node');
        await moveSlot(stage, renewTime);
        const { code, err } = await stage.command(['release', bad]);
        expect(err).toContain('ann on desk, process 7 may still work on');
        expect(code, err).toBe(0);
        expect(stage.traces(bad)).toEqual([]);
        expect(stage.slots()).toEqual([]);
      });
    },
    120_000,
  );

  it.each([
    { argv: ['release'], says: 'is as it was' },
    { argv: ['remediate', '--resume'], says: 'nothing was done to' },
  ])(
    '$argv: SIGINT while it is watched leaves all as it was',
    async ({ argv, says }) => {
      await withStage(async (stage, bad) => {
        await killed(stage, bad, 'after isolate-node');
        await moveSlot(stage, '2026-11-29T11:00:00.000000Z');
        const [command = '', ...flags] = argv;
        const running = stage.start([command, bad, ...flags]);
        await running.said('its Lease is watched');
        running.signal('SIGINT');
        const { code, out, err } = await running.ended;
        expect(err).not.toContain('unexpected');
        expect(code, err).toBe(130);
        expect(out).toContain(says);
        expect(stage.slots()).toEqual([bad]);
        expect(stage.traces(bad)).toEqual(['mark', 'cordon']);
      });
    },
    120_000,
  );
});

describe.concurrent('rights that are missing', () => {
  it.each(['remediate', 'release'])(
    '%s with rights to read only names the verb',
    async (command) => {
      await withStage(async (stage, bad) => {
        stage.cluster.authorizeBy((_who, verb) => verb === 'get' || verb === 'list');
        const { code, err } = await stage.command([command, bad]);
        expect(code).toBe(1);
        expect(err).toContain('not allowed to create configmaps');
        expect(err).toContain('nodegap rbac --operator');
        expect(stage.traces(bad)).toEqual([]);
      });
    },
    60_000,
  );

  it('to patch nodes: the verb is named, and the slot is given back', async () => {
    await withStage(async (stage, bad) => {
      stage.cluster.authorizeBy((_who, verb, what) => !(verb === 'patch' && what === 'nodes'));
      const { code, err, out } = await stage.command(['remediate', bad]);
      expect(code, err).toBe(2);
      expect(out).toContain('not allowed to patch nodes: ');
      expect(stage.traces(bad)).toEqual([]);
      expect(stage.slots()).toEqual([]);
    });
  }, 60_000);

  it('in the namespace of the state: a scan is as quiet as ever', async () => {
    await withStage(async (stage) => {
      const state = ['leases', 'configmaps', 'namespaces'];
      stage.cluster.authorizeBy((_who, verb, what) => {
        return (verb === 'get' || verb === 'list') && !state.includes(what);
      });
      const { code, err } = await stage.command(['scan']);
      expect(code).toBe(2);
      expect(err).toBe('');
      expect(stage.writes()).toEqual([]);
    });
  }, 60_000);
});

describe.concurrent('an API server that is unwell', () => {
  it('while the fault is being confirmed is asked again, once it was read', async () => {
    await withStage(async (stage, bad) => {
      stage.configure(never, 'act', '20s');
      const running = stage.start(['remediate', bad]);
      await running.said('unconfirmed');
      let refused = 0;
      stage.cluster.onRequest(({ path }) => {
        if (path !== '/api/v1/nodes' || refused >= 2) return undefined;
        refused += 1;
        return { kind: 'refuse', status: 500 };
      });
      const { code, err } = await running.ended;
      expect(err).toContain('the next one comes');
      expect(code, err).toBe(0);
      expect(refused).toBe(2);
    });
  }, 120_000);
});

describe.concurrent('a process that loses its cluster for good', () => {
  it('says what is left over and what ends it', async () => {
    await withStage(async (stage, bad) => {
      // Nothing that Patience or the machine tries again, so that it fails at once.
      stage.cluster.onRequest(({ method, path }) =>
        isGone || (method === 'PATCH' && path.includes('/nodes/') && lose())
          ? { kind: 'refuse', status: 403, message: 'no more' }
          : undefined,
      );
      let isGone = false;
      const lose = () => {
        setTimeout(() => {
          isGone = true;
        }, 100);
        return false;
      };
      const { code, out, err } = await stage.run(['remediate', bad]);
      expect(code, err).toBe(1);
      expect(out).toContain(`${bad} is left over as it is now`);
      expect(out).toContain(`nodegap release ${bad}`);
      expect(err).not.toMatch(/failed: *$/m);
      expect(stage.traces(bad)).toEqual(['mark', 'cordon']);
    });
  }, 120_000);
});

describe.concurrent('a process that was stopped for longer than its Lease lasts', () => {
  it('does nothing more to a node that another one has released meanwhile', async () => {
    await withStage(async (stage, bad) => {
      const running = stage.start(['remediate', bad]);
      let isStopped = false;
      stage.cluster.onRequest(({ method, path }) => {
        // Tainted: what comes next is the drain.
        const isTainted = stage.traces(bad).includes('taint');
        if (!isStopped && isTainted && method === 'GET' && path.endsWith('/pods')) {
          isStopped = true;
          running.signal('SIGSTOP');
        }
        return undefined;
      });
      await running.said('TaintNode ');
      while (!isStopped) await new Promise((resolve) => setTimeout(resolve, 20));
      // Until the clock alone says that it may be dead: 90 s, of which each takes a tenth.
      await new Promise((resolve) => setTimeout(resolve, 12_000));
      const released = await stage.command(['release', bad]);
      expect(released, released.err).toMatchObject({ code: 0 });
      const before = stage.writes().length;
      running.signal('SIGCONT');
      const { code, out, err } = await running.ended;
      expect(code, err).toBe(1);
      expect(out).toContain('has lost the slot of the node to another one');
      const later = stage.writes().slice(before);
      expect(later.filter((line) => /eviction|nodeclaims|\/nodes\//.test(line))).toEqual([]);
      expect(stage.traces(bad)).toEqual([]);
      expect(stage.slots()).toEqual([]);
    });
  }, 120_000);
});

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
