/** Tells the user about entries of requiredDaemonSets that choose nothing. */
import {
  type IdleRequirement,
  requirementOf,
  unmatchedRequirements,
} from '../lib/config/required.ts';
import { nearest } from '../lib/config/suggest.ts';
import type { DaemonSet } from '../lib/kubernetes/objects.ts';
import { keyOf } from '../lib/kubernetes/objects.ts';
import { type ClusterView, warn } from './cluster-view.ts';
import type { Io } from './io.ts';

/** One line for an idle entry, with its place in the file and what was probably meant. */
export function idleText(
  idle: IdleRequirement,
  daemonSets: readonly DaemonSet[],
  where: string | undefined,
): string {
  const place = where === undefined ? '' : `${where}: requiredDaemonSets[${idle.index}]: `;
  const near = idle.why === 'matches-nothing' ? meant(idle, daemonSets) : undefined;
  return `${place}${idle.message}${near === undefined ? '' : `; did you mean ${near}?`}`;
}

function meant({ entry }: IdleRequirement, daemonSets: readonly DaemonSet[]): string | undefined {
  if (entry.by === 'name') {
    return nearest(
      entry.name,
      daemonSets.map(({ metadata }) => metadata.name),
    );
  }
  if (entry.by !== 'namespaced-name') return undefined;
  const elsewhere = daemonSets.find(({ metadata }) => metadata.name === entry.name);
  const keys = daemonSets.map(keyOf);
  return elsewhere === undefined
    ? nearest(`${entry.namespace}/${entry.name}`, keys)
    : keyOf(elsewhere);
}

/** Warns of what makes a scan look at less than its user may think. */
export function warnOfIdleRequirements(
  io: Io,
  view: Pick<ClusterView, 'facts' | 'config' | 'located'>,
  allDaemonSets: boolean,
): void {
  const { facts, config, located } = view;
  if (located !== undefined) {
    for (const idle of unmatchedRequirements(config, facts.daemonSets)) {
      warn(io, idleText(idle, facts.daemonSets, located.where(['requiredDaemonSets', idle.index])));
    }
  }
  if (allDaemonSets || facts.daemonSets.length === 0) return;
  if (facts.daemonSets.some((daemonSet) => requirementOf(config, daemonSet) !== undefined)) return;
  const why =
    located === undefined
      ? 'none has the priority class system-node-critical'
      : `none is chosen by ${located.fileName}`;
  warn(
    io,
    `no DaemonSet is required (${why}), so nothing is looked at; name yours under requiredDaemonSets in nodegap.yaml, or add --all-daemonsets`,
  );
}
