/**
 * Taints and labels that user data lets the kubelet register its node with.
 *
 * How it works: a MIME archive is cut into its parts, and each part is read in the three ways in
 * which nodes of EKS are told: kubelet flags (bootstrap.sh, NodeConfig flags), `registerWithTaints`
 * of a KubeletConfiguration (also inside a NodeConfig), and `settings.kubernetes` of Bottlerocket.
 *
 * Gotchas: what a shell puts together at boot from variables or calls cannot be told; such a
 * value is left out and said to be unread.
 */
import { parseAllDocuments } from 'yaml';
import type { Taint } from '../../kubernetes/objects.ts';

export interface RegisteredByUserData {
  taints: Taint[];
  labels: Record<string, string>;
  /** It looks like the bootstrap of a Kubernetes node. */
  bootstraps: boolean;
  /** The cluster that the node joins, where it is written out. */
  cluster?: string;
  /** It registers taints that are only known at boot. */
  unread: boolean;
}

/** What user data, decoded, registers. */
export function readUserData(userData: string | undefined): RegisteredByUserData {
  const found: RegisteredByUserData = { taints: [], labels: {}, bootstraps: false, unread: false };
  for (const part of partsOf((userData ?? '').replaceAll('\r\n', '\n'))) {
    const text = withoutComments(part);
    found.bootstraps ||= bootstrapMarks.test(text);
    const cluster = clusterOf(text);
    if (cluster !== undefined) found.cluster ??= cluster;
    readFlags(text, found);
    readKubeletConfiguration(part, found);
    readBottlerocket(text, found);
  }
  found.taints = distinct(found.taints);
  return found;
}

const bootstrapMarks =
  /\/etc\/eks\/bootstrap\.sh|node\.eks\.aws|nodeadm|settings\.kubernetes|--register-with-taints|registerWithTaints|--node-labels/;

/** By bootstrap.sh, a NodeConfig, or the settings of Bottlerocket. */
function clusterOf(text: string): string | undefined {
  const forms = [
    /\/etc\/eks\/bootstrap\.sh\s+["']?([0-9A-Za-z][\w-]*)["']?(?=\s|$)/,
    /^\s*cluster:\s*\n(?:\s+\w+:[^\n]*\n)*?\s+name:\s*["']?([0-9A-Za-z][\w-]*)["']?\s*$/m,
    /^\s*cluster-name\s*=\s*["']([0-9A-Za-z][\w-]*)["']/m,
  ];
  return forms.map((form) => form.exec(text)?.[1]).find((name) => name !== undefined);
}

/** The parts of a MIME archive without their headers; else the whole. */
function partsOf(text: string): string[] {
  const boundary = /^content-type:\s*multipart\/[^\n]*boundary="?([^"\s;]+)"?/im.exec(text)?.[1];
  if (boundary === undefined) return [text];
  return text
    .split(/\r?\n/)
    .reduce<string[][]>(
      (parts, line) => {
        if (line.startsWith(`--${boundary}`)) parts.push([]);
        else parts.at(-1)?.push(line);
        return parts;
      },
      [[]],
    )
    .slice(1)
    .map((lines) => {
      const blank = lines.findIndex((line) => line.trim() === '');
      const headers = lines.slice(0, blank).every((line) => /^([\w-]+:|\s)/.test(line));
      return (blank >= 0 && headers ? lines.slice(blank + 1) : lines).join('\n');
    });
}

function withoutComments(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n');
}

function readFlags(text: string, found: RegisteredByUserData): void {
  for (const value of flagValues(text, 'register-with-taints')) {
    for (const item of value.split(',').filter((each) => each !== '')) {
      const taint = parseTaint(item);
      if (taint === undefined) found.unread = true;
      else found.taints.push(taint);
    }
  }
  for (const value of flagValues(text, 'node-labels')) {
    for (const item of value.split(',')) {
      const [, key, label = ''] = /^([\w./-]+)=?([\w.-]*)$/.exec(item) ?? [];
      if (key !== undefined) found.labels[key] = label;
    }
  }
}

/** Values of `--flag=value` and `--flag value`, however quoted. */
function flagValues(text: string, flag: string): string[] {
  const form = new RegExp(`--${flag}(?:=|\\s+)(["']?)([^\\s"']*)`, 'g');
  return [...text.matchAll(form)].map((match) => match[2] ?? '');
}

/** `key=value:Effect`, `key:Effect`, as the kubelet reads them; undefined when it is none. */
export function parseTaint(text: string): Taint | undefined {
  const [, key, value, effect] =
    /^([\w./-]+)(?:=([\w.-]*))?:(NoSchedule|NoExecute|PreferNoSchedule)$/.exec(text.trim()) ?? [];
  if (key === undefined || effect === undefined) return undefined;
  return { key, ...(value === undefined || value === '' ? {} : { value }), effect };
}

function readKubeletConfiguration(text: string, found: RegisteredByUserData): void {
  if (!text.includes('registerWithTaints')) return;
  const documents = yamlDocuments(text);
  const lists = documents.flatMap((document) => listsNamed(document, 'registerWithTaints'));
  if (lists.length === 0) found.unread = true;
  for (const item of lists.flat()) {
    const { key, value, effect } = recordOf(item);
    if (typeof key !== 'string' || typeof effect !== 'string') {
      found.unread = true;
      continue;
    }
    const given = typeof value === 'string' && value !== '' ? { value } : {};
    found.taints.push({ key, ...given, effect });
  }
}

/** The text as YAML, or the YAML and JSON that a script writes by a here-document. */
function yamlDocuments(text: string): unknown[] {
  const here = [...text.matchAll(/<<-?\s*["']?(\w+)["']?[^\n]*\n([\s\S]*?)\n\s*\1\b/g)];
  const texts = here.length === 0 ? [text] : here.map((match) => match[2] ?? '');
  return texts.flatMap((each) => {
    const parsed = parseAllDocuments(each, { uniqueKeys: false });
    if (!Array.isArray(parsed)) return [];
    try {
      return parsed
        .filter(({ errors }) => errors.length === 0)
        .map((document): unknown => document.toJS({ maxAliasCount: 10 }));
    } catch {
      // Aliases without end: nothing can be told, which the caller says.
      return [];
    }
  });
}

function listsNamed(value: unknown, name: string): unknown[][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === name && Array.isArray(inner) ? [inner] : listsNamed(inner, name),
  );
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {};
}

/** `[settings.kubernetes.node-taints]` and `node-labels`: the few forms of TOML that are used there. */
function readBottlerocket(text: string, found: RegisteredByUserData): void {
  let table = '';
  const lines = text.replace(/=\s*\[[^\]]*\]/g, (list) => list.replaceAll('\n', ' ')).split('\n');
  for (const line of lines) {
    const header = /^\s*\[([^\]"']+)\]\s*(#.*)?$/.exec(line)?.[1];
    if (header !== undefined) {
      table = header.trim();
      continue;
    }
    // As a dotted key or an inline table.
    if (/^[^=]*\bnode-taints\b.*=/.test(line) && /\bsettings\b/.test(text)) found.unread = true;
    const entry = /^\s*("[^"]+"|'[^']+'|[\w.-]+)\s*=\s*(.+)$/.exec(line);
    if (entry === null) continue;
    const key = (entry[1] ?? '').replace(/^["']|["']$/g, '');
    const values = [...(entry[2] ?? '').matchAll(/"([^"]*)"|'([^']*)'/g)].map(
      (match) => match[1] ?? match[2] ?? '',
    );
    if (table === 'settings.kubernetes.node-taints') {
      for (const value of values) {
        const taint = parseTaint(`${key}=${value}`);
        if (taint === undefined) found.unread = true;
        else found.taints.push(taint);
      }
    }
    if (table === 'settings.kubernetes.node-labels' && values[0] !== undefined) {
      found.labels[key] = values[0];
    }
  }
}

function distinct(taints: Taint[]): Taint[] {
  const seen = new Map(taints.map((taint) => [`${taint.key} ${taint.effect}`, taint]));
  return [...seen.values()];
}
