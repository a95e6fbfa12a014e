/** The state of every pair of the map, as one string a node. */
import { compileDaemonSet, intentOf, sortTaints } from '../../gap/eligibility.ts';
import { isLookedAt } from '../../gap/looked-at.ts';
import type { ClusterFacts, Detection, DetectionPolicy } from '../../gap/model.ts';
import { poolOf, zoneOf } from '../../gap/node-kinds.ts';
import type { DaemonSet, Node } from '../../kubernetes/objects.ts';
import { cellCode, firstReason, mostReasons } from './page-data.ts';

export interface NodeCells {
  name: string;
  uid: string;
  pool: string | undefined;
  zone: string | undefined;
  /** One character for each DaemonSet of the map (`cellCode`, or `firstReason` plus a reason). */
  cells: string;
}

export interface CellMap {
  /** Those that the detection looked at, sorted by namespace and name. */
  daemonSets: { key: string; daemonSet: DaemonSet }[];
  /** In the order of the facts. */
  nodes: NodeCells[];
  reasons: string[];
}

/**
 * What the detection says of each pair. It names gaps and what is unknown; a pair of neither kind
 * is covered, or not meant to be there by the same rules that the detection goes by.
 */
export function cellMap(
  facts: ClusterFacts,
  policy: DetectionPolicy,
  detection: Detection,
): CellMap {
  const compiled = facts.daemonSets
    .filter((each) => isLookedAt(each, policy))
    .map(compileDaemonSet)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const keys = new Map(compiled.map(({ key }, index) => [key, index]));
  const known = knownCells(detection, keys);
  const leftOut = new Set((detection.leftOut ?? []).map(({ nodeUid }) => nodeUid));
  const reasons = new Reasons();
  const startupTaints = new Set(policy.startupTaints);
  const cellsOf = (node: Node): string => {
    const { uid } = node.metadata;
    if (leftOut.has(uid)) return cellCode.leftOut.repeat(compiled.length);
    const ofNode = known.nodes.get(uid);
    const silent = known.silent.has(uid);
    const taints = sortTaints(node, startupTaints);
    let cells = '';
    compiled.forEach((each, index) => {
      const code = ofNode?.get(index);
      if (code !== undefined) cells += code;
      else if (each.daemonSet.metadata.deletionTimestamp !== undefined) cells += reasons.code(gone);
      else {
        const intent = intentOf(node, taints, each);
        if (intent.kind === 'not-eligible') cells += reasons.code(intent.reason);
        else cells += silent ? cellCode.unknown : cellCode.covered;
      }
    });
    return cells;
  };
  return {
    daemonSets: compiled.map(({ key, daemonSet }) => ({ key, daemonSet })),
    nodes: facts.nodes.map((node) => ({
      name: node.metadata.name,
      uid: node.metadata.uid,
      pool: poolOf(node),
      zone: zoneOf(node),
      cells: cellsOf(node),
    })),
    reasons: reasons.list,
  };
}

const gone = 'the DaemonSet is being deleted';

function knownCells(detection: Detection, keys: ReadonlyMap<string, number>) {
  const nodes = new Map<string, Map<number, string>>();
  const silent = new Set<string>();
  const put = (uid: string, daemonSet: string, code: string): void => {
    const index = keys.get(daemonSet);
    if (index === undefined) return;
    let ofNode = nodes.get(uid);
    if (ofNode === undefined) {
      ofNode = new Map();
      nodes.set(uid, ofNode);
    }
    ofNode.set(index, code);
  };
  for (const { nodeUid, daemonSet } of detection.gaps) put(nodeUid, daemonSet, cellCode.gap);
  for (const { nodeUid, daemonSet, condition } of detection.unknown) {
    if (nodeUid === undefined || condition !== undefined) continue;
    if (daemonSet === undefined) silent.add(nodeUid);
    else put(nodeUid, daemonSet, cellCode.unknown);
  }
  return { nodes, silent };
}

/** Each distinct reason once, under a character of its own. */
class Reasons {
  readonly list: string[] = [];
  readonly #codes = new Map<string, string>();

  code(reason: string): string {
    const known = this.#codes.get(reason);
    if (known !== undefined) return known;
    if (this.list.length >= mostReasons) return cellCode.notMeant;
    const code = String.fromCharCode(firstReason + this.list.push(reason) - 1);
    this.#codes.set(reason, code);
    return code;
  }
}
