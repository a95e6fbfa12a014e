/** kill -9 right before or after each handler of the machine, and what the next commands make of it. */
import { describe, expect, it } from 'vitest';
import { Stage } from './stage.ts';

interface Case {
  /** When the process ends. */
  at: string;
  /** What the next command says was done to the node; nothing is left over without it. */
  left?: string;
  /** The replacement is committed: nothing undoes it any more. */
  isCommitted?: true;
  kind?: 'sandbox' | 'never-ready';
}

const asked = 'approvals: {policy: always}';
const slotOnly = 'nothing was done to the node yet, but its slot is taken';
const cordoned = 'cordoned, and its slot is taken';
const tainted = 'cordoned and tainted, and its slot is taken';
const committed = { left: 'its replacement was committed at', isCommitted: true } as const;

const cases: Case[] = [
  { at: 'before confirm-gap' },
  { at: 'before acquire-slot' },
  { at: 'after acquire-slot', left: slotOnly },
  { at: 'after isolate-node', left: cordoned },
  { at: 'after check-recovery', left: cordoned },
  { at: 'after restart-daemon-pod', left: cordoned, kind: 'never-ready' },
  { at: 'after request-approval', left: cordoned },
  { at: 'after taint-node', left: tainted },
  { at: 'before drain-node', left: tainted },
  { at: 'after drain-node', left: tainted },
  { at: 'before replace-node', left: tainted },
  { at: 'after replace-node', ...committed },
  { at: 'before verify-replacement', ...committed },
  { at: 'after verify-replacement', ...committed },
  { at: 'before release-slot', ...committed },
  { at: 'before report' },
];

async function killed({ at, kind = 'sandbox' }: Case): Promise<{ stage: Stage; bad: string }> {
  const stage = new Stage();
  const bad = await stage.open({ yaml: asked }, { kind });
  const { signal, err } = await stage.run(['remediate', bad, '--yes'], { TEST_AT: at });
  expect(signal, err).toBe('SIGKILL');
  if (at === 'after restart-daemon-pod') await stage.restarted(bad);
  return { stage, bad };
}

describe.concurrent('after kill -9', () => {
  it.each(cases)(
    '$at, a scan names what is left over and release undoes it',
    async (each) => {
      const { stage, bad } = await killed(each);
      try {
        const scan = await stage.command(['scan']);
        const named = scan.err.split('\n').filter((line) => line.startsWith('left over: '));
        if (each.left === undefined) expect(named).toEqual([]);
        else {
          expect(named).toHaveLength(1);
          expect(named[0]).toMatch(/ by \S+ on \S+, process \d+ since 2026-/);
          expect(named[0]).toContain(`left over: ${bad} is left over`);
          expect(named[0]).toContain(each.left);
          expect(named[0]).toContain(`nodegap remediate ${bad} --resume --kubeconfig`);
          expect(named[0]).toContain(`nodegap release ${bad}`);
        }
        const first = await stage.command(['release', bad]);
        if (each.isCommitted) {
          expect(first.code).toBe(2);
          expect(first.out).toContain('which nothing undoes');
          expect(stage.slots()).toEqual([bad]);
          return;
        }
        expect(first, first.err).toMatchObject({ code: 0 });
        expect(stage.traces(bad)).toEqual([]);
        expect(stage.slots()).toEqual([]);
        const second = await stage.command(['release', bad]);
        expect(second.out).toMatch(/^nothing of nodegap is left on |^there is no node /);
        expect((await stage.command(['scan'])).err).not.toContain('left over');
      } finally {
        await stage.close();
      }
    },
    120_000,
  );

  it.each(cases)(
    '$at, remediate --resume goes on to the end',
    async (each) => {
      const { stage, bad } = await killed(each);
      try {
        const first = await stage.command(['remediate', bad, '--resume', '--yes']);
        expect(first, first.err).toMatchObject({ code: 0 });
        expect(stage.node(bad)).toBeUndefined();
        expect(stage.slots()).toEqual([]);
        const others = stage.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
        expect(others.length).toBeGreaterThanOrEqual(10);
        expect(others.filter((name) => stage.traces(name).length > 0)).toEqual([]);
        const second = await stage.command(['remediate', bad, '--resume', '--yes']);
        expect(second).toMatchObject({ code: 0 });
        expect(second.out).toContain('nothing is left over');
      } finally {
        await stage.close();
      }
    },
    120_000,
  );
});
