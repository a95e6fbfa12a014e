/** `npm run cluster`: what it prints can be done, and however it ends, nothing is left of it. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { OUTCOMES } from './harness/faults.ts';
import { runKubectl } from './harness/kubectl.ts';
import { waitFor } from './harness/wait.ts';

const root = join(import.meta.dirname, '../..');
const patience = 180_000;

interface Running {
  npm: ChildProcess & { pid: number };
  /** The process that is the cluster's. */
  main: number;
  /** The processes that it started. */
  programs: number[];
  output: () => string;
  kubeconfig: string;
}

const started: ChildProcess[] = [];

afterAll(() => {
  for (const { pid = 0 } of started) {
    const group = processTable().filter((found) => found.group === pid);
    // Gone already if all went well.
    for (const left of group) process.kill(left.pid, 'SIGKILL');
  }
});

/** Starts it in a process group of its own, as a terminal does, and waits for what it prints. */
async function startCluster(): Promise<Running> {
  const npm = spawn('npm', ['run', 'cluster'], {
    cwd: root,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  started.push(npm);
  let text = '';
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  }
  const output = () => text;
  await waitFor(() => text.includes('Ctrl-C ends the cluster'), {
    timeout: patience,
    what: 'the cluster to be offered',
    describe: output,
    abortIf: () => {
      if (npm.exitCode !== null) throw new Error(`npm run cluster ended: ${text}`);
    },
  });
  const kubeconfig = /export KUBECONFIG=(\S+)/.exec(text)?.[1] ?? '';
  const pid = npm.pid ?? 0;
  const processes = processTable();
  const main = processes.find(
    ({ group, command }) => group === pid && /^\S*node .*harness\/main\.ts/.test(command),
  );
  const programs = processes.filter(({ parent }) => parent === main?.pid);
  return {
    npm: Object.assign(npm, { pid }),
    main: main?.pid ?? 0,
    programs: programs.map((program) => program.pid),
    output,
    kubeconfig,
  };
}

function processTable() {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,pgid=,args='], { encoding: 'utf8' });
  return lines.split('\n').flatMap((line) => {
    const [, pid, parent, group, command = ''] = /^ *(\d+) +(\d+) +(\d+) (.*)$/.exec(line) ?? [];
    return pid === undefined
      ? []
      : [{ pid: Number(pid), parent: Number(parent), group: Number(group), command }];
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function nothingIsLeft({ npm, main, programs, kubeconfig }: Running): Promise<void> {
  await waitFor(() => ![npm.pid, main, ...programs].some(isAlive), {
    timeout: patience,
    what: 'every process of the cluster to be gone',
    describe: () => execFileSync('ps', ['-A', '-o', 'pid,ppid,args'], { encoding: 'utf8' }),
  });
  await waitFor(() => !existsSync(dirname(kubeconfig)), {
    timeout: patience,
    what: 'the folder of the cluster to be gone',
  });
}

test.concurrent('what it prints works, and Ctrl-C ends it', async () => {
  const running = await startCluster();
  // etcd, API server, two controllers, kwok, Karpenter, and who ends them when all else fails.
  expect(running.programs).toHaveLength(7);
  const kubectl = (...args: string[]) => runKubectl(running.kubeconfig, args);
  const pods = ['get', 'pods', '-n', 'kube-system', '-o'];
  const onWorker = [
    ...[...pods, 'jsonpath={.items[0].status.containerStatuses[0].state.waiting.reason}'],
    ...['--field-selector', 'spec.nodeName=worker-1'],
  ];
  await waitFor(async () => (await kubectl('get', 'nodes', '-o', 'name')).includes('worker-3'), {
    timeout: patience,
    what: 'the nodes',
  });
  const files = running.output().match(/^ {2}\/\S+\.kubeconfig$/gm) ?? [];
  expect(files.length).toBeGreaterThanOrEqual(3);
  for (const file of files) {
    const who = await runKubectl(file.trim(), ['auth', 'whoami', '-o', 'name']).catch(String);
    expect(who, file).not.toContain('nodegap-test-admin');
  }

  const [breaks = '', heals = ''] = running.output().match(/^ {2}fault .*$/gm) ?? [];
  running.npm.stdin?.write(`${breaks.trim()}\n`);
  await waitFor(async () => (await kubectl(...onWorker)) === 'CrashLoopBackOff', {
    timeout: patience,
    what: 'the fault',
  });
  running.npm.stdin?.write(`${heals.trim()}\n`);
  await waitFor(async () => (await kubectl(...onWorker)) === '', {
    timeout: patience,
    what: 'the pod to heal',
  });
  running.npm.stdin?.write('fault worker-1 cni crash-loop\n');
  await waitFor(() => running.output().includes(`say: fault NODE NAMESPACE/NAME ${OUTCOMES[0]}`), {
    timeout: patience,
    what: 'the hint',
  });

  process.kill(-running.npm.pid, 'SIGINT');
  await nothingIsLeft(running);
  expect(running.output()).toContain('stopping');
});

test.concurrent('kill ends it', async () => {
  const running = await startCluster();
  process.kill(running.main, 'SIGTERM');
  await nothingIsLeft(running);
  expect(running.output()).toContain('stopping');
});

test.concurrent('nothing is left when npm is killed without warning', async () => {
  const running = await startCluster();
  process.kill(running.npm.pid, 'SIGKILL');
  await nothingIsLeft(running);
});

test.concurrent('nothing is left when it is killed itself without warning', async () => {
  const running = await startCluster();
  process.kill(running.main, 'SIGKILL');
  await nothingIsLeft(running);
});
