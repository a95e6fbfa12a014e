/** Who is to blame for a node condition: the node only while its peers report otherwise. */
import {
  type BlameVerdict,
  cluster,
  isMany,
  node,
  type Share,
  unclear,
  zone,
  zoneFails,
} from './blame-verdict.ts';
import { conditionText } from './fault.ts';
import type { ConditionFault, Evidence } from './model.ts';

/** The nodes that report a type of condition. */
export class ConditionPeers {
  readonly #all: Share = { nodes: 0, failing: 0 };
  readonly #zones = new Map<string, Share>();

  add(zoneName: string | undefined, failing: boolean): void {
    const shares = [this.#all];
    if (zoneName !== undefined) {
      const share = this.#zones.get(zoneName) ?? { nodes: 0, failing: 0 };
      this.#zones.set(zoneName, share);
      shares.push(share);
    }
    for (const share of shares) {
      share.nodes += 1;
      if (failing) share.failing += 1;
    }
  }

  get all(): Readonly<Share> {
    return this.#all;
  }

  /** The zone and the rest, or undefined when there is only that zone. */
  sharesOf(zoneName: string): { inside: Share; outside: Share } | undefined {
    const inside = this.#zones.get(zoneName);
    if (inside === undefined || this.#zones.size < 2) return undefined;
    const others = [...this.#zones].filter(([name]) => name !== zoneName);
    const outside = { nodes: 0, failing: 0 };
    for (const [, { nodes, failing }] of others) {
      outside.nodes += nodes;
      outside.failing += failing;
    }
    return { inside, outside };
  }
}

/** Decides by numbers: many nodes with the same condition are not each node's own fault. */
export function blameOfCondition(
  condition: ConditionFault['condition'],
  zoneName: string | undefined,
  peers: ConditionPeers,
): BlameVerdict {
  const what = conditionText({ type: condition.type, status: condition.status });
  const shares = zoneName === undefined ? undefined : peers.sharesOf(zoneName);
  if (zoneName !== undefined && shares !== undefined && zoneFails(shares)) {
    const { inside, outside } = shares;
    return zone(
      `${ofNodes(inside)} in zone ${zoneName} have ${what}, and ${ofNodes(outside)} elsewhere`,
      [numbers(`zone ${zoneName}`, what, inside), numbers('other zones', what, outside)],
    );
  }
  const { nodes, failing } = peers.all;
  const evidence = [numbers('nodes that report it', what, peers.all)];
  if (isMany(failing, nodes)) {
    return cluster(
      `${ofNodes(peers.all)} have ${what}: its detector or what they share is at fault`,
      evidence,
    );
  }
  const well = nodes - failing;
  return well === 0
    ? unclear('no other node reports the condition, so there is nothing to compare with', evidence)
    : node(`${ofNodes({ nodes, failing })} have ${what}, and ${well} report otherwise`, evidence);
}

function numbers(object: string, what: string, share: Share): Evidence {
  return {
    object,
    field: what,
    value: ofNodes(share),
    wouldChange: 'more or fewer nodes have it',
  };
}

function ofNodes({ nodes, failing }: Share): string {
  return `${failing} of ${nodes} node${nodes === 1 ? '' : 's'}`;
}
