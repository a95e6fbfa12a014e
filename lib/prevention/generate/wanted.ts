/** Which startup taints a cluster is to have: one for each required DaemonSet, by who takes it off. */
import { entryFor } from '../../config/required.ts';
import { UsageError } from '../../errors.ts';
import { type RemoverState, removerState } from '../agent-removers.ts';
import { agentOf, type KnownAgent, knownAgents } from '../agents.ts';
import type { AuditContext, RequiredDaemonSet } from '../checks/context.ts';
import { startupTaintKey } from '../startup-taint.ts';

export type StartupEffect = 'NoSchedule' | 'NoExecute';

/** A startup taint that new nodes are to bear, and the DaemonSets that it waits for. */
export interface WantedTaint {
  key: string;
  effect: StartupEffect;
  effectReason: string;
  owners: readonly RequiredDaemonSet[];
  remover: { kind: 'nodegap' } | { kind: 'agent'; agent: KnownAgent; state: RemoverState };
}

/** A required DaemonSet that gets no startup taint, and what it would take. */
export interface LeftOut {
  daemonSet: string;
  why: string;
}

export interface Wanted {
  taints: WantedTaint[];
  leftOut: LeftOut[];
}

const effectReasons: Record<StartupEffect, string> = {
  NoSchedule:
    'a taint that comes back after pods have started throws none of them out (Karpenter may restore one while it registers a node)',
  NoExecute: 'asked for by --effect: it also keeps out pods that name their node themselves',
};

/**
 * The taints wanted, by key. A known agent keeps its own taint and gets none of nodegap beside it.
 * @throws UsageError when two DaemonSets would share one taint that nobody said they should share.
 */
export function wantedTaints(context: AuditContext, effect: StartupEffect): Wanted {
  const leftOut: LeftOut[] = [];
  const byAgent = new Map<KnownAgent, RequiredDaemonSet[]>();
  const byName = new Map<string, RequiredDaemonSet[]>();
  for (const required of context.required) {
    const agent = agentOf(required.object);
    const explicit = isNamedByEntry(required, context);
    if (agent !== undefined) add(byAgent, agent, required);
    else if (required.ceiling === 'alert' && !explicit) {
      const why =
        'its action is alert, so a node may take workload without it; give its entry a startupTaint to gate nodes on it';
      leftOut.push({ daemonSet: required.key, why });
    } else if (required.startupName === undefined) {
      const why = 'its name is too long for a taint key; give its entry a startupTaint';
      leftOut.push({ daemonSet: required.key, why });
    } else add(byName, required.startupName, required);
  }
  refuseSharedNames(byName, context);
  const agents = knownAgents.flatMap((agent) => {
    const owners = byAgent.get(agent);
    return owners === undefined ? [] : [ofAgent(agent, owners, context)];
  });
  for (const { owners, remover } of agents) {
    if (remover.state.kind !== 'off') continue;
    const why = `${remover.agent.title} would not take its taint off: ${remover.state.because}; ${remover.agent.remover.turnOn}`;
    leftOut.push(...owners.map(({ key }) => ({ daemonSet: key, why })));
  }
  const own = [...byName].map(
    ([name, owners]): WantedTaint => ({
      key: startupTaintKey(name),
      effect,
      effectReason: effectReasons[effect],
      owners,
      remover: { kind: 'nodegap' },
    }),
  );
  const on = agents.filter(({ remover }) => remover.state.kind !== 'off');
  return {
    taints: [...on, ...own].sort((a, b) => (a.key < b.key ? -1 : 1)),
    leftOut: leftOut.sort((a, b) => (a.daemonSet < b.daemonSet ? -1 : 1)),
  };
}

function ofAgent(agent: KnownAgent, owners: RequiredDaemonSet[], { facts }: AuditContext) {
  const found = owners.map(({ object, subject }) => ({ object, origin: subject.origin }));
  const state = removerState(agent, found, facts);
  return {
    key: state.kind === 'on' ? state.key : agent.taintKey,
    effect: agent.effect,
    effectReason: agent.effectReason,
    owners,
    remover: { kind: 'agent' as const, agent, state },
  };
}

/** The entry of the configuration gives the name itself. */
function isNamedByEntry({ object, startupName }: RequiredDaemonSet, { config }: AuditContext) {
  return entryFor(config, object)?.startupTaint === startupName && startupName !== undefined;
}

function refuseSharedNames(
  byName: ReadonlyMap<string, RequiredDaemonSet[]>,
  context: AuditContext,
): void {
  for (const [name, owners] of byName) {
    const unsaid = owners.filter((owner) => !isNamedByEntry(owner, context));
    if (owners.length < 2 || unsaid.length === 0) continue;
    const names = owners.map(({ key }) => key).join(' and ');
    throw new UsageError(`${names} would share the taint ${startupTaintKey(name)}`, {
      hint: 'give their entries of requiredDaemonSets different names by startupTaint, or the same if one taint shall wait for all of them',
    });
  }
}

function add<K>(map: Map<K, RequiredDaemonSet[]>, key: K, required: RequiredDaemonSet): void {
  map.set(key, [...(map.get(key) ?? []), required]);
}
