import type { ClusterFacts } from '../lib/gap/model.ts';
import { poolOf, zoneOf } from '../lib/gap/node-kinds.ts';
import type { NodeInWork } from '../lib/safety/breaker.ts';
import { anyMark } from '../lib/safety/ownership.ts';

/** Nodes that bear nodegap's isolation mark: all that a read tells of the work that is going on. */
export function nodesInWork(facts: ClusterFacts): NodeInWork[] {
  return facts.nodes
    .filter((node) => anyMark(node) !== undefined)
    .map((node) => {
      const [pool, zone] = [poolOf(node), zoneOf(node)];
      return {
        node: node.metadata.name,
        nodeUid: node.metadata.uid,
        ...(pool === undefined ? {} : { pool }),
        ...(zone === undefined ? {} : { zone }),
      };
    });
}
