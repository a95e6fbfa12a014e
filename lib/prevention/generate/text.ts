/** What the plan says to people: the head of every output, and the order of the roll-out. */

import { describeTaint, type StartupPlan } from './plan.ts';
import type { PoolRecipe } from './recipes.ts';

const width = 96;

/** Whether the plan changes nothing. */
export function isEmptyPlan({ tolerations, attachers, recipes }: StartupPlan): boolean {
  return tolerations.length + attachers.length + recipes.length === 0;
}

const effects = [
  'NoSchedule: the scheduler gives the node no pod that does not tolerate the taint; pods that are bound to it already stay.',
  'NoExecute: it also throws out what is on the node and does not tolerate it, past any disruption budget, again whenever the taint comes back.',
  'DaemonSets tolerate both: the effect may differ from pool to pool.',
];

/** Lines on what the taints are, how to roll them out and how to take them back. */
export function headOf(plan: StartupPlan): string[] {
  return [
    `Startup taints for cluster ${plan.cluster}, from nodegap startup-taints`,
    '',
    ...plan.warnings.flatMap((warning) => wrapped(`WARNING: ${warning}`)),
    ...(plan.warnings.length === 0 ? [] : ['']),
    'Taints:',
    ...plan.taints.flatMap((taint) => [
      ...wrapped(`- ${describeTaint(taint)}`),
      ...wrapped(`  ${taint.effect}: ${taint.effectReason}`),
    ]),
    ...(plan.taints.length === 0 ? ['- none'] : []),
    ...plan.leftOut.flatMap(({ daemonSet, why }) => wrapped(`- none for ${daemonSet}: ${why}`)),
    ...(isEmptyPlan(plan) ? [] : howTo),
  ];
}

/** The order in which it is rolled out, and how it is taken back. */
const rollOut: readonly string[] = [
  'Roll out in this order, each step when the one before is done:',
  '1. tolerations: the patches of DaemonSets and Deployments, until they are rolled out',
  '2. the remover: nodegap deployed with mode act for this cluster, since only its admit-nodes takes its taints off and the command line does not; and the settings of known agents',
  '3. attachers: NodePools, node groups, user data; one pool first, and watch a new node lose its taints',
  'Take back in the other order: the attachers; then wait until no node bears the taints any more, then the remover, then the tolerations.',
  'A change of startupTaints is drift: Karpenter replaces all nodes of the NodePool, as fast as its spec.disruption.budgets allow (kubernetes-sigs/karpenter#997). Set a budget with reasons [Drifted] first.',
];

const howTo: readonly string[] = [
  '',
  ...wrapped(
    'These are patches, not whole objects: for Kustomize or kubectl patch, never for kubectl apply, which would take away what they leave out.',
  ),
  '',
  'Effects:',
  ...effects.flatMap((line) => wrapped(`- ${line}`)),
  '',
  ...rollOut.flatMap(wrapped),
];

/** A node group or launch template: what to do, as plain lines. */
export function recipeLines(recipe: PoolRecipe): string[] {
  return [
    `${recipe.kind} ${recipe.name}`,
    ...recipe.taints.flatMap((taint) => wrapped(`- ${describeTaint(taint)}`)),
    ...recipe.advice.flatMap((line) => wrapped(`* ${line}`)),
    ...recipe.steps.flatMap(({ title, text }) => [
      '',
      `${title}:`,
      ...text
        .trimEnd()
        .split('\n')
        .map((line) => `  ${line}`.trimEnd()),
    ]),
  ];
}

/** The line in lines of at most `width`, those after the first set in like a list. */
function wrapped(line: string): string[] {
  const indent = /^\s*/.exec(line)?.[0] ?? '';
  const lines: string[] = [];
  let current = '';
  for (const word of line.trim().split(' ')) {
    const before = current === '' ? `${indent}${lines.length === 0 ? '' : '  '}` : `${current} `;
    if (current !== '' && before.length + word.length > width) {
      lines.push(current);
      current = `${indent}  ${word}`;
    } else current = `${before}${word}`;
  }
  return [...lines, current];
}
