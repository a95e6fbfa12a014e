/** A part of a cluster that the breaker judges by itself. */
export type ScopeKind = 'pool' | 'zone' | 'cluster';
export interface Scope {
  kind: ScopeKind;
  /** Always `cluster` for the kind `cluster`. */
  name: string;
}

export const CLUSTER_SCOPE: Scope = { kind: 'cluster', name: 'cluster' };

/** Every scope that a node is part of: there it counts, takes a place, and is judged. */
export function scopesContaining(node: { pool?: string; zone?: string }): Scope[] {
  return [
    ...(node.pool === undefined ? [] : [{ kind: 'pool', name: node.pool } as const]),
    ...(node.zone === undefined ? [] : [{ kind: 'zone', name: node.zone } as const]),
    CLUSTER_SCOPE,
  ];
}

export function sameScope(a: Scope, b: Scope): boolean {
  return a.kind === b.kind && a.name === b.name;
}

/** For example `pool general`, `zone eu-west-1a`, `cluster`. */
export function labelOf(scope: Scope): string {
  return scope.kind === 'cluster' ? 'cluster' : `${scope.kind} ${scope.name}`;
}
