/** Carries out the changes that nodegap prints, by requests of the test's own. */
import { parseAllDocuments } from 'yaml';
import { type KubeClient, type KubeObject, type PatchType, pathOf } from '../harness/client.ts';

/** Words of a command of a POSIX shell that quotes by apostrophes alone. */
function wordsOf(command: string): string[] {
  const words = command.match(/(?:'[^']*'|\\'|[^\s'])+/g) ?? [];
  return words.map((word) =>
    word.replace(/'([^']*)'|\\'/g, (_, inner: string | undefined) => inner ?? "'"),
  );
}

const collections: Record<string, string> = {
  daemonset: '/apis/apps/v1',
  deployment: '/apis/apps/v1',
  'nodepool.karpenter.sh': '/apis/karpenter.sh/v1',
};

/** The path of an object as kubectl is told of it. */
function pathFor(resource: string, name: string, namespace: string | undefined): string {
  const root = collections[resource];
  if (root === undefined) throw new Error(`the test knows no ${resource}`);
  const plural = `${resource.split('.')[0]}s`;
  return `${root}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}/${name}`;
}

type Step = (client: KubeClient) => Promise<unknown>;

/**
 * What a change does, or the first of its alternatives that consists of nothing but patches;
 * undefined when a person is needed.
 */
export function stepsOf(change: string): Step[] | undefined {
  const alternatives = change
    .split(/^# or\b.*$/m)
    .map((text) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#')));
  for (const lines of alternatives) {
    const steps = lines.map((line) => patchStep(wordsOf(line)) ?? tolerationStep(line));
    const known = steps.filter((step) => step !== undefined);
    if (known.length > 0 && known.length === steps.length) return known;
  }
  return undefined;
}

function patchStep(words: string[]): Step | undefined {
  const [kubectl, ...rest] = words;
  const namespace = rest[0] === '-n' ? rest[1] : undefined;
  const [verb, resource, name, ...options] = namespace === undefined ? rest : rest.slice(2);
  if (kubectl !== 'kubectl' || verb !== 'patch' || resource === undefined || name === undefined) {
    return undefined;
  }
  const [typeFlag, type, patchFlag, patch = '', ...more] = options;
  if (typeFlag !== '--type' || patchFlag !== '-p' || more.length > 0 || patch.includes('$(')) {
    return undefined;
  }
  const body: unknown = JSON.parse(patch);
  return (client) => client.patch(pathFor(resource, name, namespace), body, type as PatchType);
}

interface Templated extends KubeObject {
  spec: { template: { spec: { tolerations?: unknown[] } } };
}

/** `kubectl get … | jq '… += [...]' | kubectl replace -f -`. */
function tolerationStep(line: string): Step | undefined {
  const form =
    /^kubectl (?:-n (\S+) )?get (\S+) (\S+) -o json \| jq '\.spec\.template\.spec\.tolerations \+= (.*)' \| kubectl replace -f -$/;
  const [whole, namespace, resource = '', name = '', added = ''] = form.exec(line) ?? [];
  if (whole === undefined) return undefined;
  const more = JSON.parse(added) as unknown[];
  return async (client) => {
    const path = pathFor(resource, name, namespace);
    const object = await client.get<Templated>(path);
    const { spec } = object.spec.template;
    spec.tolerations = [...(spec.tolerations ?? []), ...more];
    await client.update(path, object);
  };
}

/** The patches of a YAML stream, each by the kind of patch that its object takes. */
export async function applyPatches(client: KubeClient, stream: string): Promise<KubeObject[]> {
  const patches = parseAllDocuments(stream)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((patch) => patch !== null);
  for (const patch of patches) {
    const type = patch.kind === 'NodePool' ? 'merge' : 'strategic';
    await client.patch(pathOf(patch), patch, type);
  }
  return patches;
}
