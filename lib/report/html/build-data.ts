/** From what a scan knows to what the page carries. */
import { blames, causes, type Evidence } from '../../gap/model.ts';
import type { GapVerdict } from '../../remediation/actionable.ts';
import { gapEvidence } from '../verdict-evidence.ts';
import { shortReason } from '../words.ts';
import { cellMap, type NodeCells } from './cells.ts';
import type { HtmlInput } from './input.ts';
import {
  cellCode,
  type GapNumbers,
  gapStateOf,
  type PackedGap,
  type PageData,
  packGap,
} from './page-data.ts';
import { TextTable } from './text-table.ts';

/** Stands for a node's name in a command line; needs no quotes, as most names do not. */
const placeholder = 'NODE-TO-EXPLAIN';

export function pageData(input: HtmlInput): PageData {
  const { facts, policy, detection, verdicts } = input;
  const map = cellMap(facts, policy, detection);
  const nodes = sorted(map.nodes, verdicts);
  const texts = new TextTable();
  const packer = new Packer(input, texts, {
    node: indexBy(nodes, ({ uid }) => uid),
    daemonSet: indexBy(map.daemonSets, ({ key }) => key),
  });
  const patterns = indexed(nodes.map(({ cells }) => cells));
  return {
    cluster: detection.cluster,
    now: detection.now,
    daemonSets: map.daemonSets.map(({ key, daemonSet }) => {
      const requirement = policy.requirementOf(daemonSet);
      return { key, ...(requirement === undefined ? {} : { ceiling: requirement.ceiling }) };
    }),
    groups: groupsOf(nodes),
    nodes: nodes.map(({ name }) => name),
    patterns: patterns.distinct,
    rows: patterns.indices,
    reasons: map.reasons,
    gaps: verdicts.map((verdict) => packer.gap(verdict)),
    unknown: packer.unknown(),
    leftOut: packer.leftOut(),
    texts: texts.texts,
    evidence: packer.evidence.distinct,
    plans: packer.plans.distinct,
    explain: explainParts(input.explainCommand(placeholder)),
  };
}

/** The placeholder is the first word after `explain`; an option may well hold it too. */
function explainParts(command: string): [string, string] {
  const before = command.indexOf(` explain ${placeholder}`) + ' explain '.length;
  return [command.slice(0, before), command.slice(before + placeholder.length)];
}

class Packer {
  readonly evidence = new Lists();
  readonly plans = new Lists();
  readonly #input: HtmlInput;
  readonly #texts: TextTable;
  readonly #places: { node: Map<string, number>; daemonSet: Map<string, number> };

  constructor(
    input: HtmlInput,
    texts: TextTable,
    places: { node: Map<string, number>; daemonSet: Map<string, number> },
  ) {
    this.#input = input;
    this.#texts = texts;
    this.#places = places;
  }

  gap(verdict: GapVerdict): PackedGap {
    const { gap } = verdict;
    const names = { node: gap.node, pod: gap.pod?.name };
    const text = (words: string) => this.#texts.add(words, names);
    const numbers: GapNumbers = {
      node: this.#nodeOf(gap.nodeUid),
      daemonSet: this.#places.daemonSet.get(gap.daemonSet) ?? -1,
      cause: causes.indexOf(gap.cause),
      otherCauses: gap.otherCauses.map((cause) => causes.indexOf(cause)),
      blame: blames.indexOf(gap.blame),
      required: gap.required,
      age: this.#input.detection.now - gap.since,
      ...(gap.pod === undefined ? {} : { pod: gap.pod.name }),
      restarts: gap.pod?.restarts ?? 0,
      message: text(gap.message),
      blameReason: text(gap.blameReason),
      ...this.#action(verdict, text),
      evidence: this.#evidence(gapEvidence(gap), text),
      blameEvidence: this.#evidence(gap.blameEvidence, text),
    };
    return packGap(numbers);
  }

  #action(
    verdict: GapVerdict,
    text: (words: string) => number,
  ): Pick<GapNumbers, 'action' | 'held' | 'plan'> {
    if (verdict.kind === 'not-actionable') {
      const held = { code: text(verdict.code), message: text(verdict.message) };
      return { action: text(shortReason(verdict)), held };
    }
    const { arrow, steps } = this.#input.planOf(verdict);
    return {
      action: text(actionText(arrow, verdict.canary)),
      plan: this.plans.add(steps.flatMap(({ name, detail }) => [text(name), text(detail)])),
    };
  }

  #evidence(evidence: readonly Evidence[], text: (words: string) => number): number[] {
    return evidence.map(({ object, field, value, wouldChange }) => {
      const change = wouldChange === undefined ? [] : [text(wouldChange)];
      return this.evidence.add([text(object), text(field), text(value), ...change]);
    });
  }

  unknown(): PageData['unknown'] {
    // The map is of pairs; what is unknown of conditions stands in the table of the unknown.
    const ofPairs = this.#input.detection.unknown.filter(
      ({ condition }) => condition === undefined,
    );
    return ofPairs.map((entry) => {
      const { node, nodeUid, daemonSet, reason, message, evidence = [] } = entry;
      return [
        nodeUid === undefined ? -1 : this.#nodeOf(nodeUid),
        daemonSet === undefined ? -1 : (this.#places.daemonSet.get(daemonSet) ?? -1),
        this.#texts.add(reason),
        this.#texts.add(message, { node }),
        this.#evidence(evidence, (words) => this.#texts.add(words, { node })),
      ];
    });
  }

  leftOut(): PageData['leftOut'] {
    return (this.#input.detection.leftOut ?? []).map(({ node, nodeUid, reason }) => [
      this.#nodeOf(nodeUid),
      this.#texts.add(reason, { node }),
    ]);
  }

  #nodeOf(uid: string): number {
    return this.#places.node.get(uid) ?? -1;
  }
}

/** What would be done, as the ACTION column of the table says it. */
export function actionText(arrow: string, canary: boolean): string {
  return `would ${arrow}${canary ? ' (canary)' : ''}`;
}

/** The worst that is known of each node, by uid: 0 is worst. */
function ranksOf(verdicts: readonly GapVerdict[]): Map<string, number> {
  const order = ['act', 'held', 'optional'];
  const ranks = new Map<string, number>();
  for (const { gap, kind } of verdicts) {
    const state = gapStateOf({ required: gap.required, actionable: kind === 'actionable' });
    const rank = order.indexOf(state);
    ranks.set(gap.nodeUid, Math.min(rank, ranks.get(gap.nodeUid) ?? rank));
  }
  return ranks;
}

/**
 * Pools with gaps first, the more nodes concerned the sooner, then by name; in a pool by zone; in a
 * zone the worst nodes first.
 */
function sorted(nodes: readonly NodeCells[], verdicts: readonly GapVerdict[]): NodeCells[] {
  const ranks = ranksOf(verdicts);
  const concerned = new Map<string | undefined, number>();
  for (const { uid, pool } of nodes) {
    if (ranks.has(uid)) concerned.set(pool, (concerned.get(pool) ?? 0) + 1);
  }
  const rankOf = ({ uid, cells }: NodeCells): number => {
    const rank = ranks.get(uid);
    if (rank !== undefined) return rank;
    if (cells.includes(cellCode.unknown)) return 3;
    return cells.startsWith(cellCode.leftOut) ? 5 : 4;
  };
  return [...nodes].sort(
    (a, b) =>
      (concerned.get(b.pool) ?? 0) - (concerned.get(a.pool) ?? 0) ||
      compare(a.pool, b.pool) ||
      compare(a.zone, b.zone) ||
      rankOf(a) - rankOf(b) ||
      compare(a.name, b.name),
  );
}

/** By code unit, what has no name last. */
function compare(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0;
  if (a === undefined) return 1;
  return b === undefined || a < b ? -1 : 1;
}

function groupsOf(nodes: readonly NodeCells[]): PageData['groups'] {
  const groups: PageData['groups'] = [];
  let last: NodeCells | undefined;
  for (const node of nodes) {
    const group = groups.at(-1);
    if (group !== undefined && last?.pool === node.pool && last?.zone === node.zone) {
      group.nodes += 1;
    } else {
      groups.push({
        ...(node.pool === undefined ? {} : { pool: node.pool }),
        ...(node.zone === undefined ? {} : { zone: node.zone }),
        nodes: 1,
      });
    }
    last = node;
  }
  return groups;
}

function indexBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  return new Map(items.map((item, index) => [keyOf(item), index]));
}

function indexed(texts: readonly string[]): { distinct: string[]; indices: number[] } {
  const places = new Map<string, number>();
  const indices = texts.map((text) => {
    let place = places.get(text);
    if (place === undefined) {
      place = places.size;
      places.set(text, place);
    }
    return place;
  });
  return { distinct: [...places.keys()], indices };
}

/** Lists of numbers, each distinct one once. */
class Lists {
  readonly distinct: number[][] = [];
  readonly #indices = new Map<string, number>();

  add(list: number[]): number {
    const key = list.join();
    let index = this.#indices.get(key);
    if (index === undefined) {
      index = this.distinct.push(list) - 1;
      this.#indices.set(key, index);
    }
    return index;
  }
}
