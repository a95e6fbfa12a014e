/** What ends a question in the terminal, with everything behind it at work. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EndingSignal, Io } from '../../cli/io.ts';
import { main } from '../../cli/main.ts';
import { connectFromKubeconfig } from '../../lib/kubernetes/kubeconfig.ts';
import { MadeUpTerminal } from '../cli/terminal.ts';
import { Stage } from './stage.ts';

interface Asked {
  stage: Stage;
  bad: string;
  terminal: MadeUpTerminal;
  exitCode: Promise<number>;
}

/** Runs `nodegap remediate` until it asks whether the node may be drained and replaced. */
async function whenAsked(tell: (asked: Asked) => Promise<void>): Promise<void> {
  const stage = new Stage();
  try {
    const bad = await stage.open({ yaml: 'approvals: {policy: always}' }, { kind: 'sandbox' });
    const terminal = new MadeUpTerminal({ now: stage.clock.now(), isTTY: true, columns: 200 });
    const listeners = new Set<(signal: EndingSignal) => void>();
    const io: Io = {
      stdout: { isTTY: true, write: () => true },
      stderr: terminal.output,
      stdin: terminal.input,
      env: { NO_COLOR: '1' },
      clock: stage.clock,
      waiting: stage.clock,
      readStdin: async () => '',
      connect: connectFromKubeconfig,
      interrupt: () => {
        for (const listener of listeners) listener('SIGINT');
      },
      onInterrupt: () => () => undefined,
      onSignal: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      exitNow: (code) => {
        throw new Error(`this test does not end its process (${code})`);
      },
      nodeGroups: () => {
        throw new Error('this test asks no AWS account');
      },
      account: () => {
        throw new Error('this test asks no AWS account');
      },
    };
    const inFolder = (name: string) => join(stage.folder, name);
    const files = ['--kubeconfig', inFolder('kubeconfig'), '--config', inFolder('nodegap.yaml')];
    const argv = ['remediate', bad, ...files, '--evidence', inFolder('evidence')];
    const exitCode = main(argv, io);
    await waitFor(() => terminal.text.includes('approve'), exitCode, terminal);
    await tell({ stage, bad, terminal, exitCode });
  } finally {
    await stage.close();
  }
}

async function waitFor(
  isSo: () => boolean,
  over: Promise<number>,
  terminal: MadeUpTerminal,
): Promise<void> {
  let ended: number | undefined;
  void over.then((code) => {
    ended = code;
  });
  while (!isSo()) {
    if (ended !== undefined) throw new Error(`it ended with ${ended}:\n${terminal.text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function destroyed({ cluster }: Stage): string[] {
  return cluster.audit
    .filter(
      ({ method, path }) =>
        path.endsWith('/eviction') || (method === 'DELETE' && path.includes('nodeclaims')),
    )
    .map(({ method, path }) => `${method} ${path}`);
}

describe.concurrent('while a question is open', () => {
  it('Ctrl-C is no answer: what was done is undone', async () => {
    await whenAsked(async ({ stage, bad, terminal, exitCode }) => {
      await terminal.type('\u0003');
      expect(await exitCode, terminal.text).toBe(130);
      expect(stage.traces(bad)).toEqual([]);
      expect(stage.slots()).toEqual([]);
      expect(destroyed(stage)).toEqual([]);
    });
  }, 60_000);

  it('the end of the input is a no: the node is released', async () => {
    await whenAsked(async ({ stage, bad, terminal, exitCode }) => {
      terminal.input.end();
      expect(await exitCode, terminal.text).toBe(2);
      expect(terminal.text).toContain('The input has ended');
      expect(stage.traces(bad)).toEqual([]);
      expect(stage.slots()).toEqual([]);
      expect(destroyed(stage)).toEqual([]);
    });
  }, 60_000);

  it('the loss of the slot to another process withdraws it, and nothing more is done', async () => {
    await whenAsked(async ({ stage, bad, terminal, exitCode }) => {
      await stage.editSlot(({ spec }) => {
        spec.holderIdentity = 'ann@desk/7/aaaa.bbbb';
      });
      expect(await exitCode, terminal.text).toBe(1);
      expect(terminal.text).toContain('another process took the slot of the node over');
      expect(terminal.text).toContain('The question is withdrawn');
      expect(terminal.text).not.toContain('left over as it is now');
      // The other one decides what becomes of it.
      expect(stage.traces(bad)).toEqual(['mark', 'cordon']);
      expect(stage.slots()).toEqual([bad]);
      expect(destroyed(stage)).toEqual([]);
    });
  }, 60_000);

  it('an answer that cannot be kept is no answer', async () => {
    await whenAsked(async ({ stage, bad, terminal, exitCode }) => {
      stage.cluster.onRequest(({ method, body }) =>
        method === 'PUT' && body.includes('approve') ? { kind: 'refuse', status: 403 } : undefined,
      );
      await terminal.type('approve\r');
      expect(await exitCode, terminal.text).toBe(2);
      expect(stage.traces(bad)).toEqual([]);
      expect(destroyed(stage)).toEqual([]);
    });
  }, 60_000);
});
