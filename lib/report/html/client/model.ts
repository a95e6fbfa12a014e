/** The data of the page, opened: nodes, groups and gaps that know each other. */
import { type Blame, blames, type Cause, causes } from '../../../gap/model.ts';
import { quoted } from '../../shell.ts';
import {
  type GapNumbers,
  type GapState,
  gapStateOf,
  type PageData,
  unpackGap,
} from '../page-data.ts';
import { textOf } from '../text-table.ts';

export interface ViewGap extends GapNumbers {
  /** Its place in the report. */
  index: number;
  state: GapState;
  causeName: Cause;
  blameName: Blame;
}

export interface ViewUnknown {
  node: number;
  /** -1 when it is about the whole node. */
  daemonSet: number;
  reason: number;
  message: number;
  evidence: number[];
}

export interface ViewNode {
  index: number;
  name: string;
  group: number;
  /** One character a DaemonSet, see cellCode. */
  cells: string;
  gaps: ViewGap[];
  unknown: ViewUnknown[];
  /** Why it is left out, when it is. */
  leftOut?: string;
}

export interface ViewGroup {
  index: number;
  pool: string | undefined;
  zone: string | undefined;
  /** Nodes `first` … `first + count - 1`. */
  first: number;
  count: number;
}

export interface ViewPool {
  name: string | undefined;
  groups: ViewGroup[];
  count: number;
}

export class MapModel {
  readonly data: PageData;
  readonly nodes: ViewNode[] = [];
  readonly groups: ViewGroup[] = [];
  readonly pools: ViewPool[] = [];
  readonly gaps: ViewGap[];
  readonly unknown: ViewUnknown[];
  readonly #haystacks = new Map<ViewGap | ViewUnknown, string>();

  constructor(data: PageData) {
    this.data = data;
    this.#openGroups();
    this.gaps = data.gaps.map((packed, index) => {
      const numbers = unpackGap(packed);
      return {
        ...numbers,
        index,
        state: gapStateOf({
          required: numbers.required,
          actionable: numbers.held === undefined,
        }),
        causeName: causes[numbers.cause] ?? 'unknown',
        blameName: blames[numbers.blame] ?? 'unclear',
      };
    });
    for (const gap of this.gaps) this.nodes[gap.node]?.gaps.push(gap);
    this.unknown = data.unknown.map(([node, daemonSet, reason, message, evidence]) => ({
      node,
      daemonSet,
      reason,
      message,
      evidence,
    }));
    for (const entry of this.unknown) this.nodes[entry.node]?.unknown.push(entry);
    for (const [index, reason] of data.leftOut) {
      const node = this.nodes[index];
      if (node !== undefined) node.leftOut = this.#text(reason, { node: node.name });
    }
  }

  #openGroups(): void {
    const { data } = this;
    data.groups.forEach(({ pool, zone, nodes: count }, index) => {
      const first = this.nodes.length;
      const group: ViewGroup = { index, pool, zone, first, count };
      this.groups.push(group);
      const last = this.pools.at(-1);
      if (last !== undefined && last.name === pool) {
        last.groups.push(group);
        last.count += count;
      } else {
        this.pools.push({ name: pool, groups: [group], count });
      }
      for (let node = first; node < first + count; node += 1) {
        this.nodes.push({
          index: node,
          name: data.nodes[node] ?? '',
          group: index,
          cells: data.patterns[data.rows[node] ?? -1] ?? '',
          gaps: [],
          unknown: [],
        });
      }
    });
  }

  daemonSetKey(index: number): string {
    return this.data.daemonSets[index]?.key ?? '';
  }

  causeName(index: number): string {
    return causes[index] ?? 'unknown';
  }

  groupOf(node: ViewNode): ViewGroup {
    const group = this.groups[node.group];
    if (group === undefined) throw new Error(`node ${node.name} is in no group`);
    return group;
  }

  gapAt(node: ViewNode, daemonSet: number): ViewGap | undefined {
    return node.gaps.find((gap) => gap.daemonSet === daemonSet);
  }

  /** What is unknown of a pair: of itself, else of its whole node. */
  unknownAt(node: ViewNode, daemonSet: number): ViewUnknown | undefined {
    return (
      node.unknown.find((entry) => entry.daemonSet === daemonSet) ??
      node.unknown.find((entry) => entry.daemonSet === -1)
    );
  }

  /** A text of the page that is about a gap or an unknown entry. */
  text(index: number, about: ViewGap | ViewUnknown): string {
    const node = this.nodes[about.node]?.name;
    return this.#text(index, 'pod' in about ? { node, pod: about.pod } : { node });
  }

  #text(index: number, names: { node?: string | undefined; pod?: string | undefined }): string {
    return textOf(this.data.texts[index] ?? '', names);
  }

  /** Everything about a gap or unknown entry that a search looks through, in lower case. */
  haystack(about: ViewGap | ViewUnknown): string {
    const known = this.#haystacks.get(about);
    if (known !== undefined) return known;
    const node = this.nodes[about.node];
    const group = node === undefined ? undefined : this.groups[node.group];
    const own =
      'cause' in about
        ? [
            about.causeName,
            about.blameName,
            about.pod ?? '',
            about.held === undefined ? '' : this.text(about.held.code, about),
          ]
        : [this.text(about.reason, about)];
    const text = [
      node?.name ?? '',
      group?.pool ?? '',
      group?.zone ?? '',
      this.daemonSetKey(about.daemonSet),
      ...own,
      this.text(about.message, about),
    ]
      .join('\n')
      .toLowerCase();
    this.#haystacks.set(about, text);
    return text;
  }

  /** The command that explains the node, ready to be pasted into a shell. */
  explainCommand(node: ViewNode): string {
    const [before, after] = this.data.explain;
    return before + quoted(node.name) + after;
  }
}
