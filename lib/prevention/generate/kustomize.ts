/**
 * The plan as Kustomize components, one for each step that patches objects: the kustomization that
 * holds the objects lists them under `components`. A component does not carry the objects itself.
 */
import { stringify } from 'yaml';
import { printable } from '../../printable.ts';
import type { ObjectPatch } from './patch.ts';
import type { StartupPlan } from './plan.ts';
import { headOf, recipeLines } from './text.ts';
import { comment, patchYaml } from './yaml.ts';

/** Files by their path inside the folder. Names depend on the objects alone. */
export function planKustomize(plan: StartupPlan): Map<string, string> {
  const files = new Map<string, string>();
  addComponent(files, 'tolerations', plan.tolerations);
  addComponent(files, 'attachers', plan.attachers);
  files.set('README.txt', readme(plan));
  return files;
}

function addComponent(
  files: Map<string, string>,
  folder: string,
  patches: readonly ObjectPatch[],
): void {
  if (patches.length === 0) return;
  const named = patches.map((patch) => [fileOf(patch), patch] as const);
  for (const [file, patch] of named) {
    files.set(`${folder}/${file}`, `${comment(patch.comments)}${patchYaml(patch)}`);
  }
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1alpha1',
    kind: 'Component',
    patches: named.map(([path]) => ({ path })),
  };
  files.set(`${folder}/kustomization.yaml`, stringify(kustomization));
}

/** `daemonset_kube-system_aws-node.yaml`: no name of an object has a `_`, so no two files collide. */
function fileOf({ kind, namespace, name }: ObjectPatch): string {
  const parts = [kind.toLowerCase(), ...(namespace === undefined ? [] : [namespace]), name];
  return `${parts.map((part) => part.replace(/[^a-z0-9.-]/gi, '-')).join('_')}.yaml`;
}

function readme(plan: StartupPlan): string {
  const use = [
    '',
    'List the components in the kustomization that holds the objects, tolerations first:',
    '',
    '  components:',
    ...(plan.tolerations.length === 0 ? [] : ['    - PATH/tolerations']),
    ...(plan.attachers.length === 0 ? [] : ['    - PATH/attachers   # step 3']),
  ];
  const patched = plan.tolerations.length + plan.attachers.length > 0;
  return [
    ...headOf(plan),
    ...(patched ? use : ['', 'No object needs a patch.']),
    ...plan.recipes.flatMap((recipe) => ['', ...recipeLines(recipe)]),
  ]
    .map((line) => `${printable(line)}\n`)
    .join('');
}
