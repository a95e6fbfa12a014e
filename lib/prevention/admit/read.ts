/**
 * What a pass reads: one list of nodes and the pods that can prove something.
 *
 * How it works: a list of all nodes in the first pass, once a minute, and for half a minute after a
 * node was admitted, for then its taint may come back; in between only those that Karpenter has not
 * initialised, which a node with a startup taint of its NodePool never is (other nodes lack that
 * label, so of them all are listed). Pods are read for the nodes alone that wait for
 * nothing else: node by node for a few, by one list for each DaemonSet for many. DaemonSets are
 * listed once a minute, and while nothing that is known stands behind a taint.
 */
import type { Config } from '../../config/model.ts';
import { eachOf } from '../../kubernetes/each-of.ts';
import type { DaemonSet, Node, Pod } from '../../kubernetes/objects.ts';
import type { ClusterReader } from '../../ports.ts';
import { startupOwners } from '../startup-taint.ts';
import { decideAdmission, startupNamesOn } from './decide.ts';
import type { AdmissionFacts } from './model.ts';

/** How long DaemonSets, and the nodes that a selector leaves out, are good for. */
const wholeEveryMs = 60_000;
/** How long after an admission the taint may come back: Karpenter is registering the node. */
const restoredWithinMs = 30_000;
/** Up to so many nodes are asked for one by one. */
const fewNodes = 10;
/** With more DaemonSets than this a list for each costs more than one list of everything. */
const maxLists = 20;

/** What is remembered of a cluster between passes; an instance that starts anew reads all. */
export interface AdmissionMemory {
  daemonSets?: { items: DaemonSet[]; at: number };
  allNodesAt?: number;
  /** When a node was admitted last. */
  admittedAt?: number;
}

/** Reads a cluster for one pass. Throws KubernetesError when a list could not be completed. */
export async function readAdmission(
  reader: ClusterReader,
  memory: AdmissionMemory,
  config: Config,
  context: Pick<AdmissionFacts, 'leaving' | 'installation'> & { now: number },
): Promise<AdmissionFacts> {
  const { now, ...known } = context;
  const isOld = (at: number | undefined) => at === undefined || now - at >= wholeEveryMs;
  const all =
    reader.listUninitialisedNodes === undefined ||
    isOld(memory.allNodesAt) ||
    now - (memory.admittedAt ?? 0) < restoredWithinMs;
  const listed = all ? await reader.listNodes() : await reader.listUninitialisedNodes?.();
  if (all) memory.allNodesAt = now;
  const nodes = (listed ?? []).filter((node) => startupNamesOn(node).length > 0);
  // A DaemonSet that was made a moment ago may stand behind a taint that nobody seems to take off.
  const isKnown = ({ items }: { items: DaemonSet[] }) => {
    const names = startupOwners(config, items);
    return nodes.every((node) => startupNamesOn(node).every((name) => names.has(name)));
  };
  const remembered = memory.daemonSets;
  if (
    nodes.length > 0 &&
    (remembered === undefined || isOld(remembered.at) || !isKnown(remembered))
  ) {
    memory.daemonSets = { items: await reader.listDaemonSets(), at: now };
  }
  const daemonSets = memory.daemonSets?.items ?? [];
  const facts: AdmissionFacts = { ...known, nodes, daemonSets, pods: [] };
  const asked = nodesThatNeedPods(facts, config, now);
  return { ...facts, pods: await podsOf(reader, asked, ownersOn(asked, daemonSets, config)) };
}

/** Those that wait for nothing but pods. */
function nodesThatNeedPods(facts: AdmissionFacts, config: Config, now: number): Node[] {
  return decideAdmission(facts, config, now).nodes.flatMap((admission) =>
    admission.kind === 'looked-at' &&
    admission.wait.some(({ code }) => code === 'startup-pod-missing')
      ? [admission.node]
      : [],
  );
}

function ownersOn(nodes: readonly Node[], daemonSets: DaemonSet[], config: Config): DaemonSet[] {
  const names = new Set(nodes.flatMap(startupNamesOn));
  const owners = [...startupOwners(config, daemonSets)].flatMap(([name, behind]) =>
    names.has(name) ? behind : [],
  );
  return owners;
}

async function podsOf(
  reader: ClusterReader,
  nodes: readonly Node[],
  owners: readonly DaemonSet[],
): Promise<Pod[]> {
  const { quick } = reader;
  if (nodes.length === 0) return [];
  if (quick === undefined) return reader.listDaemonSetPods();
  const pods: Pod[] = [];
  const byNode = nodes.length <= fewNodes;
  if (!byNode && owners.length > maxLists) return reader.listDaemonSetPods();
  if (byNode) {
    await eachOf(nodes, async ({ metadata }) => {
      pods.push(...(await quick.listDaemonSetPodsOnNode(metadata.name)));
    });
  } else {
    await eachOf(owners, async (owner) => {
      pods.push(...(await quick.listPodsOf(owner)));
    });
  }
  return pods;
}
