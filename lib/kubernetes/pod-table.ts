/**
 * Pods as a table (`kubectl get -o wide`): about 150 bytes a pod in place of 6,000.
 *
 * A table is not exact: it shows a pod as Running with all containers ready although its Ready
 * condition is False or Unknown, and it tells neither the owner nor any condition. So it may only
 * be used to skip work, see lib/gap/quick-facts.ts.
 */
import { KubernetesError } from '../errors.ts';
import type { PodRow } from '../ports.ts';
import { allAtOnce, headOf, type ListFormat, type ListHead, readJson } from './list-formats.ts';

/** The server answered with a list of pods: it makes no tables. */
export class NoTableError extends KubernetesError {
  constructor(path: string) {
    super('server', `the API server shows no table of ${path}`, { status: 200 });
  }
}

/** The kubectl columns that a row is read from (k8s.io/kubernetes pkg/printers podColumnDefinitions). */
const columns = {
  name: 'Name',
  ready: 'Ready',
  status: 'Status',
  node: 'Node',
  readinessGates: 'Readiness Gates',
} as const;

/** Items are PodRow objects. @throws NoTableError when the answer is no table, or lacks a column. */
export const podTableFormat: ListFormat = {
  accept: 'application/json;as=Table;v=v1;g=meta.k8s.io, application/json',
  query: { includeObject: 'None' },
  async open(path, answer) {
    const table = (await readJson(path, answer.body)) as {
      kind?: unknown;
      metadata?: ListHead;
      columnDefinitions?: ({ name?: unknown } | null)[] | null;
      rows?: ({ cells?: unknown[] | null } | null)[] | null;
    } | null;
    if (table?.kind !== 'Table') throw new NoTableError(path);
    const { columnDefinitions, rows } = table;
    if (!isList(columnDefinitions) || !isList(rows)) throw new NoTableError(path);
    const names = (columnDefinitions ?? []).map((column) => column?.name);
    const at = (column: string): number => {
      const index = names.indexOf(column);
      if (index < 0) throw new NoTableError(path);
      return index;
    };
    const index = {
      name: at(columns.name),
      ready: at(columns.ready),
      status: at(columns.status),
      node: at(columns.node),
      readinessGates: at(columns.readinessGates),
    };
    return {
      ...headOf(table.metadata),
      items: () =>
        allAtOnce(() =>
          (rows ?? []).map((row): PodRow => {
            const cells = row?.cells ?? [];
            const node = cells[index.node];
            return {
              name: String(cells[index.name]),
              ready: String(cells[index.ready]),
              status: String(cells[index.status]),
              node: typeof node === 'string' && node !== '<none>' ? node : undefined,
              readinessGates: String(cells[index.readinessGates]),
            };
          }),
        ),
    };
  },
};

/** Go writes an empty list as null. */
function isList(value: unknown): boolean {
  return value === undefined || value === null || Array.isArray(value);
}
