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
import { UsageError } from '../../errors.ts';
import { isRaw, type RawObject } from './raw.ts';

export interface ManifestFile {
  /** As it is shown to people. */
  file: string;
  text: string;
}

export interface Manifests {
  objects: RawObject[];
  /** Files that are templates, which nobody can read before they are rendered. */
  templates: string[];
}

/**
 * The objects of all files. Documents that are no Kubernetes object (values, a kustomization) are
 * passed over, and so are templates of Helm and the like.
 * @throws UsageError for the first document that is neither YAML nor a template, with its place.
 */
export function readManifests(files: readonly ManifestFile[]): Manifests {
  const objects: RawObject[] = [];
  const templates: string[] = [];
  for (const each of files) {
    const read = readFile(each);
    if (read === 'template') templates.push(each.file);
    else objects.push(...read);
  }
  return { objects, templates };
}

/** `{{` opens an action of Go's templates; in plain YAML it would open a map as the key of a map. */
const templateMark = /\{\{/;

function readFile({ file, text }: ManifestFile): RawObject[] | 'template' {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, logLevel: 'silent' });
  // A text without a document parses to an empty list with a property of its own.
  const broken = [...documents].flatMap(({ errors }) => errors)[0];
  if (broken !== undefined) {
    if (templateMark.test(text)) return 'template';
    const [message = ''] = broken.message.split('\n');
    const { line } = lines.linePos(broken.pos[0]);
    throw new UsageError(
      `${file}:${line}: not valid YAML: ${message.replace(/ at line \d+.*$/, '')}`,
      {
        hint: 'mend it, or move the file out of the folder',
      },
    );
  }
  return [...documents].flatMap((document) => objectsOf(document.contents, document, file, lines));
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
  const raw: unknown = node.toJS(document);
  if (!isRaw(raw)) return [];
  const { line } = lines.linePos(startOf(node));
  return [{ raw, origin: { kind: 'file', file, line } }];
}

function scalarIn(node: YAMLMap, key: string): string | undefined {
  const value = node.get(key, true);
  return isScalar(value) && typeof value.value === 'string' ? value.value : undefined;
}

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}
