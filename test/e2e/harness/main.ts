import { createInterface } from 'node:readline';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { OUTCOMES, type Outcome } from './faults.ts';
import { IDENTITIES, type Identity } from './identities.ts';
import { applyDaemonSet, applyDeployment, applyNode, applyNodePool } from './objects.ts';
import { node as nodeOf } from './state.ts';

/** `npm run cluster`: a cluster to try things on, until Ctrl-C. */
async function main(): Promise<void> {
  // From the first moment on: who interrupts the start wants nothing left behind, either.
  const end = interrupted();
  const cluster = await startControlPlane({ karpenter: true });
  try {
    await Promise.race([end, offer(cluster)]);
  } finally {
    console.log('stopping');
    await cluster.stop();
  }
}

/** Never ends. */
async function offer(cluster: ControlPlane): Promise<never> {
  await populate(cluster);
  console.log(usage(cluster));
  return readCommands(cluster);
}

/** Three plain nodes, a DaemonSet which everything needs, and a workload on Karpenter's nodes. */
async function populate(cluster: ControlPlane): Promise<void> {
  const client = cluster.client();
  for (const name of ['worker-1', 'worker-2', 'worker-3']) await applyNode(client, { name });
  await applyDaemonSet(client, { name: 'cni' });
  await applyNodePool(client, { name: 'default' });
  await applyDeployment(client, {
    name: 'web',
    replicas: 3,
    spread: true,
    nodeSelector: { 'karpenter.sh/nodepool': 'default' },
  });
}

function usage(cluster: ControlPlane): string {
  const identities = (Object.keys(IDENTITIES) as Identity[]).filter((name) => name !== 'admin');
  return `
In another terminal:

  export KUBECONFIG=${cluster.kubeconfig()}

The identities of nodegap itself, which may do what your RBAC gives to their groups:

${identities.map((identity) => `  ${cluster.kubeconfig(identity)}`).join('\n')}

Here, to break the pods of a DaemonSet on one node, or on every node that was not named (*), and
to heal them:

  fault worker-1 kube-system/cni crash-loop
  fault worker-1 kube-system/cni ready

Faults: ${OUTCOMES.join(', ')}
Logs: ${cluster.logs}
Ctrl-C ends the cluster.
`;
}

/** Obeys `fault NODE NAMESPACE/NAME OUTCOME` lines. It never ends, even when the input does. */
async function readCommands({ injector, client }: ControlPlane): Promise<never> {
  for await (const line of createInterface({ input: process.stdin })) {
    const [word, node, daemonSet, outcome] = line.trim().split(/\s+/);
    if (word === '') continue;
    if (word !== 'fault' || node === undefined || !isName(daemonSet) || !isOutcome(outcome)) {
      console.log(`say: fault NODE NAMESPACE/NAME ${OUTCOMES.join('|')}`);
      continue;
    }
    if ((await nodeOf(client(), node)) === undefined && node !== '*') {
      console.log(`there is no node ${node}: kubectl get nodes`);
      continue;
    }
    await injector.set({ node, daemonSet }, outcome);
    console.log(`${daemonSet} on ${node}: ${outcome}`);
  }
  return new Promise(() => undefined);
}

/** Whether it is NAMESPACE/NAME. */
function isName(word: string | undefined): word is string {
  return /^[^/]+\/[^/]+$/.test(word ?? '');
}

function isOutcome(word: string | undefined): word is Outcome {
  return OUTCOMES.some((outcome) => outcome === word);
}

/** Ends when the user, or who started this, has had enough. */
function interrupted(): Promise<void> {
  const npm = process.env.npm_lifecycle_event === undefined ? undefined : process.ppid;
  return new Promise((resolve) => {
    // It also keeps the process alive when its input has ended.
    const watch = setInterval(() => {
      // npm was killed, and could not pass that on.
      if (npm !== undefined && process.ppid !== npm) stop();
    }, 500);
    const stop = () => {
      clearInterval(watch);
      resolve();
    };
    // A signal may come twice, from the terminal and from npm, and none may cut the clean-up short.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  });
}

if (process.argv.length > 2) {
  console.log(
    'npm run cluster takes no options; it starts a cluster and says what one can do with it',
  );
  process.exit(process.argv.includes('--help') ? 0 : 1);
}
try {
  await main();
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}
// Standard input may still be open.
process.exit(0);
