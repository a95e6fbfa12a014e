import { Command, Option } from 'commander';
import { detectionPolicyOf } from '../../lib/config/required.ts';
import { nearest } from '../../lib/config/suggest.ts';
import { isKubernetesError, UsageError } from '../../lib/errors.ts';
import { detect } from '../../lib/gap/detect.ts';
import type { ClusterFacts } from '../../lib/gap/model.ts';
import { type DaemonSet, keyOf, type Node } from '../../lib/kubernetes/objects.ts';
import { actionableConditions, actionableGaps } from '../../lib/remediation/actionable.ts';
import { type DrainPlan, planDrain } from '../../lib/remediation/drain-plan.ts';
import { explainNode } from '../../lib/report/explain.ts';
import { explainReport } from '../../lib/report/explain-report.ts';
import { explainText } from '../../lib/report/explain-text.ts';
import { plural } from '../../lib/report/words.ts';
import {
  addViewOptions,
  type ClusterView,
  readClusterView,
  type ViewOptions,
} from '../cluster-view.ts';
import type { CommandContext } from '../context.ts';
import { jsonText, yamlText } from '../data-text.ts';
import { styleFor } from '../io.ts';
import { tellLeftovers } from '../leftovers.ts';
import { nodesInWork } from '../marks.ts';
import { commandsOf } from '../node-command.ts';

interface ExplainCliOptions extends ViewOptions {
  output: 'text' | 'json' | 'yaml';
}

/** `nodegap explain`: why, for each DaemonSet of a node, and what nodegap would do. */
export function explainCommand({ io }: CommandContext): Command {
  const command = new Command('explain')
    .description('say for each DaemonSet of a node what is known, why, and what nodegap would do')
    .argument('<node>', 'name of the node')
    .argument('[daemonset]', 'only this one, by name or namespace/name');
  return addViewOptions(command)
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['text', 'json', 'yaml'])
        .default('text'),
    )
    .action(async (...given: [string, string | undefined, ExplainCliOptions, Command]) => {
      const [nodeName, wanted, options, self] = given;
      const view = await readClusterView(io, options, { kind: 'full', allDaemonSets: true });
      const { facts, config, now, cluster } = view;
      if (options.file === undefined) {
        const commandOf = commandsOf(io, self.parent?.name() ?? self.name(), options);
        tellLeftovers(io, facts.nodes, view.heldSlots, commandOf);
      }
      const node = findNode(facts, nodeName);
      const daemonSets = wanted === undefined ? facts.daemonSets : findDaemonSets(facts, wanted);
      // Blame compares with all nodes, so the whole cluster is judged.
      const policy = detectionPolicyOf(config, { allDaemonSets: true });
      const detection = detect(facts, policy, now);
      const inWork = nodesInWork(facts);
      const verdicts = actionableGaps(detection, facts, config, now, { inWork });
      const conditions = actionableConditions(detection, facts, config, now, { inWork });
      const explanation = explainNode({
        facts,
        policy,
        detection,
        verdicts,
        conditions,
        config,
        node,
        daemonSets,
      });
      const shared = {
        now,
        config,
        mode: cluster.mode,
        context: options.context,
        drain: await drainOf(view, node),
      };
      const report = () => explainReport(explanation, { ...shared, cluster: facts.cluster });
      switch (options.output) {
        case 'json':
          io.stdout.write(`${jsonText(report())}\n`);
          break;
        case 'yaml':
          io.stdout.write(yamlText(report()));
          break;
        case 'text':
          io.stdout.write(
            explainText(explanation, {
              ...shared,
              style: styleFor(io.stdout, io.env),
              width: io.stdout.isTTY === true ? io.stdout.columns : undefined,
            }),
          );
      }
    });
}

/** What a drain would do; a cluster that does not show its pods or budgets is no reason to fail. */
async function drainOf(view: ClusterView, node: Node): Promise<DrainPlan | { unread: string }> {
  const { facts, config, now } = view;
  try {
    const { pods, budgets } = await view.drainSight(node.metadata.name);
    const { daemonSets } = facts;
    return planDrain({ node, pods, daemonSets, budgets, config: config.drain, now });
  } catch (error) {
    if (!isKubernetesError(error)) throw error;
    return { unread: error.message };
  }
}

function findNode(facts: ClusterFacts, name: string): Node {
  const node = facts.nodes.find(({ metadata }) => metadata.name === name);
  if (node !== undefined) return node;
  const names = facts.nodes.map(({ metadata }) => metadata.name);
  throw new UsageError(`there is no node "${name}" in ${facts.cluster}`, {
    hint: nodeSuggestion(name, names),
  });
}

/** By namespace/name, or by a name that may occur in several namespaces. */
function findDaemonSets(facts: ClusterFacts, wanted: string): DaemonSet[] {
  const found = facts.daemonSets.filter(
    (each) => keyOf(each) === wanted || each.metadata.name === wanted,
  );
  if (found.length > 0) return found;
  const keys = facts.daemonSets.map(keyOf);
  const near = wanted.includes('/')
    ? keys
    : [...facts.daemonSets.map(({ metadata }) => metadata.name)];
  throw new UsageError(`there is no DaemonSet "${wanted}" in ${facts.cluster}`, {
    hint: suggestion(wanted, near, keys),
  });
}

const shownNodes = 5;

/**
 * Nodes that begin as the word does, else the one that is nearest to it. A single one is not taken
 * silently either: names of nodes are alike.
 */
export function nodeSuggestion(word: string, names: readonly string[]): string {
  const near = nearest(word, names);
  const begun = word === '' ? [] : names.filter((name) => name.startsWith(word)).sort();
  const meant = begun.length > 0 || near === undefined ? begun : [near];
  if (meant.length > shownNodes) {
    return `${meant.length} nodes begin so: ${meant.slice(0, shownNodes).join(', ')}, …`;
  }
  if (meant.length > 0) return `did you mean ${meant.join(', ')}?`;
  return `none of its ${plural(names.length, 'node')} has a name like that; kubectl get nodes lists them`;
}

const shownNames = 12;

function suggestion(word: string, candidates: string[], all = candidates): string {
  const near = nearest(word, candidates);
  if (near !== undefined) return `did you mean ${near}?`;
  if (all.length === 0) return 'there are none';
  const names = [...all].sort().slice(0, shownNames).join(', ');
  return all.length > shownNames ? `there are ${all.length}: ${names}, …` : `there are: ${names}`;
}
