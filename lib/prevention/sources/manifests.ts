/** Reads the manifests of a GitOps repository: every object with the file and line it stands in. */
import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type YAMLMap,
} from 'yaml';
import { messageOf, UsageError } from '../../errors.ts';
import { isRaw, type Raw, type RawObject, rawOf } from './raw.ts';

export interface ManifestFile {
  /** As it is shown to people. */
  file: string;
  text: string;
}

export interface Manifests {
  objects: RawObject[];
  /** Files that are templates, which nobody can read before they are rendered. */
  templates: string[];
  /** Files that are no YAML and hold no object anyhow: fixtures, values, other languages. */
  foreign: string[];
  /** Kustomizations that change the objects they list, which is not seen before they are built. */
  kustomizations: string[];
}

/**
 * The objects of all files. Documents that are no Kubernetes object (values, a kustomization) are
 * passed over, and so are templates of Helm and the like, and broken files without any `apiVersion`.
 * @throws UsageError for the first other file that is no YAML, with the place.
 */
export function readManifests(files: readonly ManifestFile[]): Manifests {
  const objects: RawObject[] = [];
  const templates: string[] = [];
  const foreign: string[] = [];
  for (const each of files) {
    const read = readFile(each);
    if (read === 'template') templates.push(each.file);
    else if (read === 'foreign') foreign.push(each.file);
    else objects.push(...read);
  }
  const kustomizations = files
    .filter(({ file, text }) => kustomizationName.test(file) && changesObjects.test(text))
    .map(({ file }) => file);
  return { objects, templates, foreign, kustomizations };
}

/** `{{` opens an action of Go's templates; in plain YAML it would open a map as the key of a map. */
const templateMark = /\{\{/;

const kustomizationName = /(^|\/)kustomization(\.ya?ml)?$/i;

/** Fields of a kustomization by which the objects come out other than they were written. */
const changesObjects =
  /^["']?(patches\w*|images|components|replacements|transformers|namespace|namePrefix|nameSuffix|helmCharts)["']?\s*:/m;

function readFile({ file, text }: ManifestFile): RawObject[] | 'template' | 'foreign' {
  const lines = new LineCounter();
  // Kubernetes tools read YAML 1.1 here: `<<` merges.
  const documents = parseAllDocuments(text, {
    lineCounter: lines,
    logLevel: 'silent',
    merge: true,
  });
  // A text without a document parses to an empty list with a property of its own.
  const broken = [...documents].flatMap(({ errors }) => errors)[0];
  if (broken !== undefined) {
    if (templateMark.test(text)) return 'template';
    if (!text.includes('apiVersion')) return 'foreign';
    const [message = ''] = broken.message.split('\n');
    const { line } = lines.linePos(broken.pos[0]);
    throw new UsageError(
      `${file}:${line}: not valid YAML: ${message.replace(/ at line \d+.*$/, '')}`,
      {
        hint: 'mend it, or move the file out of the folder',
      },
    );
  }
  const objects = [...documents].flatMap((document) =>
    objectsOf(document.contents, document, file, lines),
  );
  return objects.some(({ raw }) => isTemplate(raw)) ? 'template' : objects;
}

/** Quoted actions leave YAML that can be read, and an object without a name that is its own. */
function isTemplate({ metadata }: Raw): boolean {
  const { name, namespace } = rawOf(metadata);
  return [name, namespace].some((each) => typeof each === 'string' && templateMark.test(each));
}

function objectsOf(
  node: unknown,
  document: Document,
  file: string,
  lines: LineCounter,
): RawObject[] {
  if (!isMap(node)) return [];
  const kind = scalarIn(node, 'kind');
  if (kind === undefined || scalarIn(node, 'apiVersion') === undefined) return [];
  const items = node.get('items');
  if (kind.endsWith('List') && isSeq(items)) {
    return items.items.flatMap((item) => objectsOf(item, document, file, lines));
  }
  const { line } = lines.linePos(startOf(node));
  const raw = plainOf(node, document, `${file}:${line}`);
  if (!isRaw(raw)) return [];
  return [{ raw, origin: { kind: 'file', file, line } }];
}

function plainOf(node: YAMLMap, document: Document, where: string): unknown {
  try {
    return node.toJS(document);
  } catch (cause) {
    throw new UsageError(`${where}: its aliases cannot be followed: ${messageOf(cause)}`, {
      cause,
      hint: 'mend it, or move the file out of the folder',
    });
  }
}

function scalarIn(node: YAMLMap, key: string): string | undefined {
  const value = node.get(key, true);
  return isScalar(value) && typeof value.value === 'string' ? value.value : undefined;
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}
