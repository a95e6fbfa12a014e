/**
 * Startup taints as the audit understands them: which keys are some, what each waits for, and
 * whether somebody takes it off.
 */
import type { DaemonSet, Taint } from '../../kubernetes/objects.ts';
import { type RemoverState, removerState } from '../agent-removers.ts';
import { agentOf, agentOfTaint, type KnownAgent, knownAgents } from '../agents.ts';
import type { Found, WrittenDaemonSet } from '../facts.ts';
import type { AuditSubject } from '../findings.ts';
import { startupTaintKey, startupTaintName } from '../startup-taint.ts';
import type { AuditContext, RequiredDaemonSet } from './context.ts';
import { poolSelection } from './pool-selection.ts';
import type { Attachment, Pool } from './pools.ts';

/** Taints of new nodes that Kubernetes, the cloud provider or Karpenter take off by themselves. */
const systemTaints = new Set([
  'karpenter.sh/unregistered',
  'node.cloudprovider.kubernetes.io/uninitialized',
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/network-unavailable',
]);

/** Keys of kubernetes-sigs/node-readiness-controller. */
export const readinessControllerPrefix = 'readiness.k8s.io/';

export interface InstalledAgent {
  agent: KnownAgent;
  daemonSets: readonly Found<WrittenDaemonSet>[];
  state: RemoverState;
  /** The key that it takes off, as far as that is known. */
  key: string;
}

/** Who takes a taint off. */
export type Remover =
  | { kind: 'nodegap'; name: string; owners: readonly RequiredDaemonSet[] }
  | ({ kind: 'agent' } & InstalledAgent)
  /** The configuration says that something does. */
  | { kind: 'configured' }
  | { kind: 'system' }
  | { kind: 'readiness-controller' }
  | { kind: 'nobody-known' };

export interface StartupModel {
  agents: readonly InstalledAgent[];
  removerOf(key: string): Remover;
  /** Whether it is known to be one that somebody takes off, whatever field it is written in. */
  isStartup(attachment: Attachment): boolean;
  /** Keys of startup taints that wait for this DaemonSet. */
  keysFor(daemonSet: DaemonSet): string[];
}

export function startupModel(context: AuditContext): StartupModel {
  const { facts, required, config } = context;
  const agents = knownAgents.map((agent): InstalledAgent => {
    const daemonSets = facts.daemonSets.filter(({ object }) => agentOf(object) === agent);
    const state = removerState(agent, daemonSets, facts);
    return { agent, daemonSets, state, key: state.kind === 'on' ? state.key : agent.taintKey };
  });
  const configured = new Set(config.startupTaints);

  function removerOf(key: string): Remover {
    const name = startupTaintName({ key });
    if (name !== undefined) {
      const owners = required.filter(({ startupName }) => startupName === name);
      return { kind: 'nodegap', name, owners };
    }
    const installed =
      agents.find((each) => each.daemonSets.length > 0 && each.key === key) ??
      agents.find(({ agent }) => agent === agentOfTaint({ key }));
    if (installed !== undefined) return { kind: 'agent', ...installed };
    if (configured.has(key)) return { kind: 'configured' };
    if (systemTaints.has(key)) return { kind: 'system' };
    if (key.startsWith(readinessControllerPrefix)) return { kind: 'readiness-controller' };
    return { kind: 'nobody-known' };
  }

  return {
    agents,
    removerOf,
    isStartup: ({ taint, way }) =>
      way === 'startup' || removerOf(taint.key).kind !== 'nobody-known',
    keysFor: (daemonSet) => {
      const own = required.find(({ object }) => object === daemonSet)?.startupName;
      const agent = agents.find(({ daemonSets }) =>
        daemonSets.some(({ object }) => object === daemonSet),
      );
      return [
        ...(agent === undefined ? [] : [agent.key]),
        ...(own === undefined ? [] : [startupTaintKey(own)]),
      ];
    },
  };
}

/** DaemonSets that a startup taint waits for, as far as they are known. */
export function waitedFor(remover: Remover): WrittenDaemonSet[] {
  if (remover.kind === 'nodegap') return remover.owners.map(({ object }) => object);
  return remover.kind === 'agent' ? remover.daemonSets.map(({ object }) => object) : [];
}

/** Whether any of the DaemonSets may be placed by its selectors on nodes of the pool. */
export function maySelect(pool: Pool, daemonSets: readonly DaemonSet[]): boolean {
  return daemonSets.some(({ spec }) => poolSelection(pool, spec.template.spec) !== 'no');
}

/** `NodePool general`. */
export function subjectText({ kind, name }: AuditSubject): string {
  return `${kind} ${name}`;
}

/** Taints of the pool's nodes that last, as far as anybody knows. */
export function lastingTaints(model: StartupModel, pool: Pool): Taint[] {
  return pool.attachments.filter((each) => !model.isStartup(each)).map(({ taint }) => taint);
}
