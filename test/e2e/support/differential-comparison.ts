/** What the evaluator and the DaemonSet controller say of every pair, side by side. */
import type { ControllerVerdict } from '../../../lib/gap/eligibility.ts';
import type { DaemonSet, Node } from '../../../lib/kubernetes/objects.ts';

/** What there is once the controller has worked on every DaemonSet with every node in view. */
export interface Settled {
  nodes: Node[];
  daemonSets: DaemonSet[];
  /** `node daemonSet` of every pod, once for each pod. */
  placed: string[];
}

/** How `placed` names a pair. */
export function pairText(node: string, daemonSet: string): string {
  return `${node} ${daemonSet}`;
}

/** How many pairs the evaluator would have run, only kept, and deleted or left out. */
export interface Comparison {
  pairs: number;
  /** It runs there. */
  run: number;
  /** It would not be made there, but the pod that was there stays. */
  kept: number;
  /** The pod that was there is deleted. */
  removed: number;
  disagreements: string[];
}

export type Evaluator = (node: Node, daemonSet: DaemonSet) => ControllerVerdict;

/**
 * Compares every pair. A pod is due where the DaemonSet runs, and where it may continue if it had
 * a pod before. The number that the controller wants is compared too, since a pod that may
 * continue does not show whether it would be made again.
 */
export function compare(
  evaluate: Evaluator,
  { nodes, daemonSets, placed }: Settled,
  before: ReadonlySet<string>,
): Comparison {
  const result: Comparison = { pairs: 0, run: 0, kept: 0, removed: 0, disagreements: [] };
  const found = new Map<string, number>();
  for (const pair of placed) found.set(pair, (found.get(pair) ?? 0) + 1);
  for (const daemonSet of daemonSets) {
    let wanted = 0;
    for (const node of nodes) {
      const pair = pairText(node.metadata.name, daemonSet.metadata.name);
      const verdict = evaluate(node, daemonSet);
      const had = before.has(pair);
      const due = verdict.run || (verdict.cont && had);
      result.pairs += 1;
      if (verdict.run) wanted += 1;
      else if (due) result.kept += 1;
      else if (had) result.removed += 1;
      const pods = found.get(pair) ?? 0;
      found.delete(pair);
      if (pods !== (due ? 1 : 0)) {
        result.disagreements.push(
          explain(
            node,
            daemonSet,
            `${verdictText(verdict)}, ${had ? 'had a pod' : 'had no pod'}`,
            `${pods} pods`,
          ),
        );
      }
    }
    result.run += wanted;
    const desired = daemonSet.status.desiredNumberScheduled;
    if (desired !== wanted) {
      result.disagreements.push(
        explain(undefined, daemonSet, `wants ${wanted} pods`, `wants ${desired} pods`),
      );
    }
  }
  for (const pair of found.keys()) result.disagreements.push(`a pod of no pair: ${pair}`);
  return result;
}

function verdictText({ run, cont, reason }: ControllerVerdict): string {
  return `run ${run}, cont ${cont} (${reason})`;
}

function explain(
  node: Node | undefined,
  daemonSet: DaemonSet,
  evaluator: string,
  controller: string,
): string {
  const { nodeSelector, affinity, tolerations, hostNetwork, nodeName } =
    daemonSet.spec.template.spec;
  const template = { nodeSelector, affinity, tolerations, hostNetwork, nodeName };
  const { labels } = node?.metadata ?? {};
  return [
    `${daemonSet.metadata.name} on ${node?.metadata.name ?? 'all nodes together'}:`,
    `  evaluator:  ${evaluator}`,
    `  controller: ${controller}`,
    ...(node === undefined ? [] : [`  node:       ${JSON.stringify({ labels, ...node.spec })}`]),
    `  template:   ${JSON.stringify(template)}`,
  ].join('\n');
}
