/**
 * Generated nodes and DaemonSets on a real API server, and what the real DaemonSet controller made
 * of every pair of them.
 *
 * The controller is the only one that runs: with the node lifecycle controller away, a node has
 * exactly the taints that it was given, those that mirror conditions included, and nothing evicts.
 * Its pods name a scheduler that nobody is, so that a pod stays where the controller put it, by
 * nodeName or by its field term; whether it runs plays no part.
 */
import fc from 'fast-check';
import type { DaemonSet, Node, ObjectMeta, Pod, PodSpec } from '../../../lib/kubernetes/objects.ts';
import {
  type NodeFacts,
  nodeArbitrary,
  templateArbitrary,
} from '../../gap/eligibility-arbitraries.ts';
import { ApiError, type KubeClient } from '../harness/client.ts';
import { waitFor } from '../harness/wait.ts';
import { pairText, type Settled } from './differential-comparison.ts';

export const differentialFlags = [
  '--controllers=daemonset-controller',
  '--concurrent-daemonset-syncs=10',
  '--kube-api-qps=2000',
  '--kube-api-burst=4000',
];

const namespace = 'differential';
const daemonSetsPath = `/apis/apps/v1/namespaces/${namespace}/daemonsets`;
const podsPath = `/api/v1/namespaces/${namespace}/pods`;
/** On every node: in which round it was last written. */
const roundLabel = 'nodegap-test/round';
/** Wants every node of a round, so its pods tell which nodes the controller has seen. */
const sentinel = 'sentinel';

/** What changes on a node from one round to the next. */
type Change = 'nothing' | 'labels' | 'taints' | 'everything';

/** One round's state of every node, by name. */
export type NodeRound = ReadonlyMap<string, NodeFacts>;

/** The nodes of every round, the same ones for the same seed. */
export function generateNodes(seed: number, count: number, rounds: number): NodeRound[] {
  const change = fc.constantFrom<Change>('nothing', 'labels', 'taints', 'taints', 'everything');
  const step = fc.record({ change, next: nodeArbitrary });
  const life = fc.array(step, { minLength: rounds, maxLength: rounds, size: 'max' });
  const lives = fc.sample(life, { seed, numRuns: count });
  return Array.from({ length: rounds }, (_, round) => {
    const entries = lives.map((steps, index): [string, NodeFacts] => {
      return [nodeName(index), stateAt(steps.slice(0, round + 1))];
    });
    return new Map(entries);
  });
}

function stateAt(steps: { change: Change; next: NodeFacts }[]): NodeFacts {
  const [first, ...later] = steps;
  if (first === undefined) throw new Error('a node has at least one round');
  let state = first.next;
  for (const { change, next } of later) state = changed(state, change, next);
  return state;
}

function changed(state: NodeFacts, change: Change, next: NodeFacts): NodeFacts {
  switch (change) {
    case 'nothing':
      return state;
    case 'labels':
      return { ...state, labels: next.labels };
    case 'taints':
      return { ...next, labels: state.labels };
    case 'everything':
      return next;
  }
}

function nodeName(index: number): string {
  return `node-${String(index).padStart(3, '0')}`;
}

/** Templates for nodes of those names, and of one that there is not. */
export function generateTemplates(seed: number, count: number, names: string[]): PodSpec[] {
  return fc.sample(templateArbitrary([...names, 'node-nowhere']), { seed, numRuns: count });
}

/** Makes the namespace, bare nodes, and the DaemonSet that tells which nodes have been seen. */
export async function prepare(client: KubeClient, names: Iterable<string>): Promise<void> {
  await client.create('/api/v1/namespaces', { metadata: { name: namespace } });
  for (const name of names) await client.create('/api/v1/nodes', { metadata: { name } });
  await client.create(
    daemonSetsPath,
    daemonSetOf(sentinel, {
      nodeSelector: { [roundLabel]: 'none' },
      tolerations: [{ operator: 'Exists' }],
    }),
  );
}

/** Creates a DaemonSet for each template, and gives the API server's reasons for those it refused. */
export async function createDaemonSets(
  client: KubeClient,
  templates: readonly PodSpec[],
): Promise<string[]> {
  const refused: string[] = [];
  for (const [index, template] of templates.entries()) {
    const name = `ds-${String(index).padStart(3, '0')}`;
    try {
      await client.create(daemonSetsPath, daemonSetOf(name, template));
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 422)) throw error;
      refused.push(error.message);
    }
  }
  return refused;
}

function daemonSetOf(name: string, template: PodSpec) {
  const labels = { app: name };
  return {
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      updateStrategy: { type: 'OnDelete' },
      template: {
        metadata: { labels },
        spec: {
          ...template,
          schedulerName: 'nobody',
          // The API server then removes even a bound pod at once: there is no kubelet to do it.
          terminationGracePeriodSeconds: 0,
          containers: [{ name: 'main', image: 'example.invalid/agent:1' }],
        },
      },
    },
  };
}

/**
 * Gives every node its labels, taints and cordon of that round, and waits until the controller has
 * seen them all: the sentinel, which wants the nodes of this round, has come to each of them.
 */
export async function writeNodes(
  client: KubeClient,
  nodes: NodeRound,
  round: number,
): Promise<void> {
  for (const [name, { labels, taints, unschedulable }] of nodes) {
    const set = (path: string, value: unknown) => ({ op: 'add', path, value });
    await client.patch(
      `/api/v1/nodes/${name}`,
      [
        set('/metadata/labels', { ...labels, [roundLabel]: `${round}` }),
        // All of them: also the one that the API server gives every new node.
        set('/spec/taints', taints),
        set('/spec/unschedulable', unschedulable),
      ],
      'json',
    );
  }
  await client.patch(`${daemonSetsPath}/${sentinel}`, {
    spec: { template: { spec: { nodeSelector: { [roundLabel]: `${round}` } } } },
  });
  await passesDone(
    client,
    ({ metadata, status }) =>
      metadata.name !== sentinel || status.desiredNumberScheduled === nodes.size,
  );
}

/**
 * Waits until the controller has acted on every DaemonSet with the nodes of this round in view.
 *
 * There is nothing to sleep for: the nodes have been seen, and the controller reports the new
 * generation that each DaemonSet gets only after a pass in which it made and deleted what it wanted.
 */
export async function settle(client: KubeClient, round: number): Promise<Settled> {
  for (const { metadata } of await client.list<DaemonSet>(daemonSetsPath)) {
    await client.patch(`${daemonSetsPath}/${metadata.name}`, { spec: { minReadySeconds: round } });
  }
  const daemonSets = await passesDone(client, () => true);
  const pods = await client.list<Pod>(podsPath);
  return {
    nodes: await client.list<Node>('/api/v1/nodes'),
    daemonSets: daemonSets.filter(({ metadata }) => metadata.name !== sentinel),
    placed: pods
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata, spec }) => ({ node: placeOf(spec), owner: ownerOf(metadata) }))
      .filter(({ owner }) => owner !== sentinel)
      .map(({ node, owner }) => pairText(node, owner)),
  };
}

/** Waits until the controller has reported on every DaemonSet as it is now, and all are so. */
function passesDone(
  client: KubeClient,
  isSo: (daemonSet: DaemonSet) => boolean,
): Promise<DaemonSet[]> {
  return waitFor(
    async () => {
      const all = await client.list<DaemonSet>(daemonSetsPath);
      const done = all.every((each) => {
        return each.status.observedGeneration === each.metadata.generation && isSo(each);
      });
      return done ? all : undefined;
    },
    { timeout: 60_000, what: "the controller's pass over every DaemonSet" },
  );
}

function ownerOf({ name, ownerReferences }: ObjectMeta): string {
  const owner = ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) throw new Error(`pod ${name} has no controller`);
  return owner.name;
}

/** Read here afresh, lest the product's own reading of it be what is compared. */
function placeOf(spec: PodSpec): string {
  const { nodeName } = spec;
  if (nodeName !== undefined) return nodeName;
  const [term] =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ?.nodeSelectorTerms ?? [];
  const name = term?.matchFields?.[0]?.values?.[0];
  if (name === undefined) throw new Error(`a pod is for no node: ${JSON.stringify(spec.affinity)}`);
  return name;
}
