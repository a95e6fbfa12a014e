/**
 * Reads nodegap.yaml. All problems are reported at once, each with line and column.
 *
 * Gotchas: an issue at a key that is not there points at the map that lacks it; one at an unknown
 * key points at the key, not its value.
 */
import { type Document, isMap, isNode, isScalar, LineCounter, parseAllDocuments } from 'yaml';
import { UsageError } from '../errors.ts';
import { configSha256 } from './canonical.ts';
import type { Config, LoadedConfig } from './model.ts';
import { problemsOf, valueAt, wordingOf } from './problems.ts';
import { configSchema } from './schema.ts';
import { budgetProblems, type Problem, semanticProblems } from './semantics.ts';

type Path = readonly (string | number)[];

/** A configuration that knows where in its file each part stands. */
export interface LocatedConfig extends LoadedConfig {
  fileName: string;
  /** `nodegap.yaml:12:5` of the part at that path, or of the nearest part around it. */
  where(path: Path): string;
}

const hint = 'every key with its default: examples/nodegap.full.yaml and docs/configuration.md';

const shownSyntaxErrors = 3;

/** `clusters[0].name`. */
function pathText(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** Offset in the text of the part at `path`, of its key when `atKey`, else of what is around it. */
function offsetOf(document: Document, path: Path, atKey: boolean): number {
  for (let length = path.length; length >= 0; length -= 1) {
    const part = path.slice(0, length);
    const parent = part.length === 0 ? undefined : document.getIn(part.slice(0, -1), true);
    const key = part.at(-1);
    const pair = isMap(parent)
      ? parent.items.find((item) => isScalar(item.key) && item.key.value === key)
      : undefined;
    const keyOffset = isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
    const node = part.length === 0 ? document.contents : document.getIn(part, true);
    const valueOffset = isNode(node) ? node.range?.[0] : undefined;
    // A null written as nothing has no place of its own worth pointing at.
    const nothing = isScalar(node) && node.value === null && node.range?.[0] === node.range?.[1];
    const offset = atKey || nothing ? (keyOffset ?? valueOffset) : (valueOffset ?? keyOffset);
    if (offset !== undefined) return offset;
  }
  return 0;
}

/**
 * Validates the text of nodegap.yaml and fills in the defaults.
 * @throws UsageError whose message has one line a problem: `FILE:LINE:COLUMN: KEY: what; do what`.
 */
export function loadConfig(text: string, fileName: string): LocatedConfig {
  const lines = new LineCounter();
  const place = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${fileName}:${line}:${col}`;
  };
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  const document = Array.isArray(documents) ? documents[0] : undefined;
  if (document === undefined || document.contents === null) {
    const example = 'a cluster is enough: clusters: [{name: NAME, region: REGION}]';
    throw new UsageError(`${fileName}: the file is empty; ${example}`, { hint });
  }
  const syntax = documents.flatMap((one: Document) => [...one.errors, ...one.warnings]);
  if (syntax.length > 0) {
    // What follows the first few is most often a consequence of them.
    const messages = syntax
      .slice(0, shownSyntaxErrors)
      .map((error) => `${place(error.pos[0])}: ${error.message}`);
    const more = syntax.length - messages.length;
    if (more > 0) messages.push(`${fileName}: and ${more} more`);
    throw new UsageError(messages.join('\n'), { hint: 'the file is not valid YAML' });
  }
  if (documents.length > 1) {
    throw new UsageError(`${fileName}: holds ${documents.length} YAML documents; keep one`);
  }
  const root: unknown = document.toJS();
  const parsed = configSchema.safeParse(root, { error: wordingOf });
  const problems = [
    ...(parsed.success ? budgetProblems(parsed.data) : problemsOf(parsed.error, root)),
    ...semanticProblems(root),
  ];
  if (!parsed.success || problems.length > 0) {
    throw new UsageError(describe(document, problems, place, root), { hint });
  }
  return {
    config: parsed.data,
    sha256: configSha256(parsed.data),
    fileName,
    where: (path) => place(offsetOf(document, path, false)),
  };
}

function describe(
  document: Document,
  problems: Problem[],
  place: (offset: number) => string,
  root: unknown,
): string {
  const seen = new Set<string>();
  return problems
    .map((problem) => {
      const missing = valueAt(root, problem.path) === undefined;
      const path = missing ? problem.path.slice(0, -1) : problem.path;
      const offset = offsetOf(document, path, problem.atKey ?? false);
      const key = problem.path.length === 0 ? '' : `${pathText(problem.path)}: `;
      return { offset, line: `${place(offset)}: ${key}${problem.message}` };
    })
    .sort((a, b) => a.offset - b.offset)
    .filter(({ line }) => !seen.has(line) && seen.add(line))
    .map(({ line }) => line)
    .join('\n');
}

/**
 * The configuration that holds when no file is given: all defaults, for one cluster of any name
 * (a kubeconfig context may be called what EKS would not allow).
 */
export function defaultConfig(cluster: string, region: string): Config {
  const config = configSchema.parse({ clusters: [{ name: 'cluster', region: 'us-east-1' }] });
  return {
    ...config,
    clusters: config.clusters.map((each) => ({ ...each, name: cluster, region })),
  };
}
