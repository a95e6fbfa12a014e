/** Two command lines at once, other installations, refusals, and what a person says. */
import { describe, expect, it } from 'vitest';
import { isolationAnnotation } from '../../lib/safety/ownership.ts';
import { cni, type Ended, Stage, type StageOptions } from './stage.ts';

async function withStage(
  options: StageOptions,
  tell: (stage: Stage, bad: string) => Promise<void>,
): Promise<void> {
  const stage = new Stage(options);
  try {
    await tell(stage, await stage.open(options, { kind: 'sandbox' }));
  } finally {
    await stage.close();
  }
}

const never = { yaml: 'approvals: {policy: never}' };

describe.concurrent('two command lines at once', () => {
  it('on one node: one repairs it, the other says who has it', async () => {
    await withStage(never, async (stage, bad) => {
      const first = stage.start(['remediate', bad]);
      const second = stage.start(['remediate', bad, '--context', 'other', '--cluster', 'prod']);
      const both = await Promise.all([first.ended, second.ended]);
      const winner = both.find(({ code }) => code === 0) as Ended;
      const loser = both.find((each) => each !== winner);
      expect(winner, both.map(({ err }) => err).join('\n----\n')).toBeDefined();
      expect(loser?.code, loser?.err).toBe(2);
      expect(loser?.err).toMatch(
        /is worked on by|another node is called|there is no node|node-gone/,
      );
      const deleted = stage.cluster.audit.filter(
        ({ method, path }) => method === 'DELETE' && path.includes('/nodeclaims/'),
      );
      expect(deleted).toHaveLength(1);
      expect(stage.slots()).toEqual([]);
    });
  }, 120_000);

  it('on two nodes of a pool: the cap of the pool holds', async () => {
    const yaml = `${never.yaml}\nbreaker: {maxUnhealthyPercent: 50}`;
    const stage = new Stage({ nodes: 10 });
    const other = stage.names[1] ?? '';
    // Of another kind: two nodes that fail alike would be the DaemonSet's fault.
    stage.cluster.setFault({ node: other, daemonSet: cni }, { kind: 'volume' });
    try {
      const bad = await stage.open({ yaml }, { kind: 'sandbox' });
      let most = 0;
      const look = setInterval(() => {
        most = Math.max(most, stage.slots().length);
      }, 50);
      const both = await Promise.all([
        stage.run(['remediate', bad]),
        stage.run(['remediate', other]),
      ]).finally(() => clearInterval(look));
      expect(both.map(({ code }) => code).sort(), both.map(({ err }) => err).join('\n')).toEqual([
        0, 2,
      ]);
      expect(both.find(({ code }) => code === 2)?.err).toContain('pool-parallel-cap');
      expect(most).toBe(1);
    } finally {
      await stage.close();
    }
  }, 120_000);
});

describe.concurrent('what is refused', () => {
  it('a node that another installation has isolated, with its name', async () => {
    await withStage(never, async (stage, bad) => {
      const mark = {
        installation: '111122223333/eu-west-1/nodegap',
        execution: 'arn:aws:states:eu-west-1:111122223333:execution:x:y',
        episode: 1,
        attempt: 1,
        cordoned: true,
        tainted: false,
        at: '2026-11-29T11:00:00Z',
      };
      const patch = {
        metadata: { annotations: { [isolationAnnotation]: JSON.stringify(mark) } },
        spec: { unschedulable: true },
      };
      await stage.patchNode(bad, patch);
      const repaired = await stage.command(['remediate', bad]);
      expect(repaired.code, repaired.err).toBe(2);
      expect(repaired.out).toContain(mark.installation);
      const released = await stage.command(['release', bad]);
      expect(released.code).toBe(2);
      expect(released.out).toContain(`isolated by another installation, ${mark.installation}`);
      expect(stage.traces(bad)).toEqual(['mark', 'cordon']);
      // A live installation in AWS takes its nodes up by itself.
      expect((await stage.command(['scan'])).err).not.toContain('left over');
    });
  }, 120_000);

  it('a cluster that the configuration has in mode observe', async () => {
    await withStage({ mode: 'observe' }, async (stage, bad) => {
      const { code, out } = await stage.command(['remediate', bad]);
      expect(code).toBe(2);
      expect(out).toContain('mode observe');
      expect(stage.cluster.audit.filter(({ path }) => !path.endsWith('/namespaces'))).toEqual([]);
    });
  }, 120_000);

  it('without a terminal and without --yes, since no answer is a no', async () => {
    await withStage({ yaml: 'approvals: {policy: always}' }, async (stage, bad) => {
      const { code, out, err } = await stage.run(['remediate', bad]);
      expect(code, err).toBe(2);
      expect(err).toContain('denied');
      expect(`${out}${err}`).not.toContain('States.Timeout');
      expect(stage.traces(bad)).toEqual([]);
      expect(stage.slots()).toEqual([]);
    });
  }, 120_000);

  it('the end of a machine of an Auto Scaling group: the node stays isolated, and is released', async () => {
    await withStage({ managedBy: 'node-group', ...never }, async (stage, bad) => {
      const { code, err, out } = await stage.run(['remediate', bad]);
      expect(code, err).toBe(2);
      expect(err).toContain('nothing here ends the machine of');
      expect(out).toContain('replaced by a person');
      expect(stage.traces(bad)).toEqual(['mark', 'cordon']);
      expect((await stage.command(['scan'])).err).toContain(`left over: ${bad}`);
      expect(await stage.command(['release', bad])).toMatchObject({ code: 0 });
      expect(stage.traces(bad)).toEqual([]);
    });
  }, 120_000);
});
