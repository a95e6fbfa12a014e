/** The startup taints of nodegap: `nodegap.dev/startup-NAME`, and which DaemonSets stand behind one. */
import type { Config } from '../config/model.ts';
import { entryFor } from '../config/required.ts';
import { OWN_STARTUP_TAINT_PREFIX } from '../gap/eligibility.ts';
import type { DaemonSet, Node, Taint } from '../kubernetes/objects.ts';

/** The part of a taint key behind the last `/` has 63 characters at most (IsQualifiedName). */
const maxName = 63 - 'startup-'.length;

/** The key of the startup taint NAME. */
export function startupTaintKey(name: string): string {
  return `${OWN_STARTUP_TAINT_PREFIX}${name}`;
}

/** NAME of a startup taint of nodegap; undefined for every other taint. */
export function startupTaintName({ key }: Pick<Taint, 'key'>): string | undefined {
  if (!key.startsWith(OWN_STARTUP_TAINT_PREFIX)) return undefined;
  return key.slice(OWN_STARTUP_TAINT_PREFIX.length);
}

/** Whether any of the nodes bears a startup taint of nodegap. */
export function anyStartupTaint(nodes: readonly Node[]): boolean {
  return nodes.some((node) => node.spec.taints?.some((t) => startupTaintName(t) !== undefined));
}

/**
 * NAME of the startup taint that waits for a DaemonSet: what its entry says, else its own name.
 * Undefined when it is not required, or its name is too long and its entry says none.
 */
export function startupNameOf(
  config: Pick<Config, 'requiredDaemonSets'>,
  daemonSet: DaemonSet,
): string | undefined {
  const entry = entryFor(config, daemonSet);
  if (entry === undefined) return undefined;
  if (entry.startupTaint !== undefined) return entry.startupTaint;
  const { name } = daemonSet.metadata;
  return name.length <= maxName ? name : undefined;
}

/** The DaemonSets that each startup taint waits for, by NAME: several may share one. */
export function startupOwners<T extends DaemonSet>(
  config: Pick<Config, 'requiredDaemonSets'>,
  daemonSets: readonly T[],
): Map<string, T[]> {
  const owners = new Map<string, T[]>();
  for (const daemonSet of daemonSets) {
    const name = startupNameOf(config, daemonSet);
    if (name === undefined) continue;
    owners.set(name, [...(owners.get(name) ?? []), daemonSet]);
  }
  return owners;
}
