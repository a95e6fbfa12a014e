import { createInterface } from 'node:readline';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { OUTCOMES, type Outcome } from './faults.ts';
import { applyDaemonSet, applyDeployment, applyNode, applyNodePool } from './objects.ts';

/** `npm run cluster`: a cluster to try things on, until Ctrl-C. */
async function main(): Promise<void> {
  const cluster = await startControlPlane({ karpenter: true });
  try {
    await populate(cluster);
    console.log(usage(cluster));
    await Promise.race([interrupted(), readCommands(cluster)]);
  } finally {
    console.log('stopping');
    await cluster.stop();
  }
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
  return `
In another terminal:

  export KUBECONFIG=${cluster.kubeconfig()}

The identities of nodegap itself, which may do what your RBAC gives to their groups:

  ${cluster.kubeconfig('reader')}
  ${cluster.kubeconfig('actuator')}

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
async function readCommands({ injector }: ControlPlane): Promise<never> {
  for await (const line of createInterface({ input: process.stdin })) {
    const [word, node, daemonSet, outcome] = line.trim().split(/\s+/);
    if (word === '') continue;
    if (word !== 'fault' || node === undefined || daemonSet === undefined || !isOutcome(outcome)) {
      console.log(`say: fault NODE NAMESPACE/NAME ${OUTCOMES.join('|')}`);
      continue;
    }
    await injector.set({ node, daemonSet }, outcome);
    console.log(`${daemonSet} on ${node}: ${outcome}`);
  }
  return new Promise(() => undefined);
}

function isOutcome(word: string | undefined): word is Outcome {
  return OUTCOMES.some((outcome) => outcome === word);
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    // Something must keep the process alive when its input has ended.
    const alive = setInterval(() => undefined, 60_000);
    const stop = () => {
      clearInterval(alive);
      resolve();
    };
    process.once('SIGINT', stop);
    process.once('SIGTERM', stop);
  });
}

await main();
// Standard input may still be open.
process.exit(0);
