/** The plan as one YAML stream of patches, in the order in which they are rolled out. */
import { stringify } from 'yaml';
import { printable } from '../../printable.ts';
import type { ObjectPatch } from './patch.ts';
import type { StartupPlan } from './plan.ts';
import { headOf, isEmptyPlan, recipeLines } from './text.ts';

export function planYaml(plan: StartupPlan): string {
  const head = comment(headOf(plan));
  if (isEmptyPlan(plan)) {
    // What was not read may lack a change all the same.
    const scope =
      plan.warnings.length === 0 ? '' : '# In what was read (mind the warnings above):\n';
    return `${head}#\n${scope}# Nothing to change.\n`;
  }
  const documents = [
    ...plan.tolerations.map((patch) => patchDocument('step 1', patch)),
    ...plan.attachers.map((patch) => patchDocument('step 3', patch)),
  ];
  const recipes = plan.recipes.map((recipe) => `#\n${comment(['step 3', ...recipeLines(recipe)])}`);
  return [head, ...recipes, ...documents.map((document) => `---\n${document}`)].join('');
}

function patchDocument(step: string, patch: ObjectPatch): string {
  return `${comment([`${step}: ${patch.comments[0] ?? ''}`, ...patch.comments.slice(1)])}${patchYaml(patch)}`;
}

/** The patch as an object that is cut down to what it changes. */
export function patchYaml({ apiVersion, kind, namespace, name, spec }: ObjectPatch): string {
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  // Kubernetes tools read YAML 1.1, where a `yes` without quotes is no text.
  return stringify({ apiVersion, kind, metadata, spec }, { lineWidth: 0, version: '1.1' });
}

/** Names come from the cluster, so no line of theirs may end a comment. */
export function comment(lines: readonly string[]): string {
  return lines.map((line) => `${`# ${printable(line)}`.trimEnd()}\n`).join('');
}
