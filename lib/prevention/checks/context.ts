/** What all checks of an audit share: the required DaemonSets, the nodes and the pools. */
import type { Config, Mode } from '../../config/model.ts';
import { entryFor, requirementOf } from '../../config/required.ts';
import {
  type CompiledDaemonSet,
  compileDaemonSet,
  intentOf,
  sortTaints,
} from '../../gap/eligibility.ts';
import type { Ceiling } from '../../gap/model.ts';
import { isCounted } from '../../gap/node-kinds.ts';
import type { Node } from '../../kubernetes/objects.ts';
import type { AuditCheck } from '../audit-checks.ts';
import type { Found, PreventionFacts, WrittenDaemonSet, WrittenPodSpec } from '../facts.ts';
import type { AuditFinding, AuditSubject, NotChecked } from '../findings.ts';
import { startupNameOf } from '../startup-taint.ts';
import { type PatchedKind, patchOf } from './change.ts';
import { poolSelection } from './pool-selection.ts';
import { type Pool, poolsOf, unreadAttachers } from './pools.ts';

export interface RequiredDaemonSet {
  object: WrittenDaemonSet;
  /** `namespace/name`. */
  key: string;
  subject: AuditSubject;
  compiled: CompiledDaemonSet;
  template: WrittenPodSpec;
  ceiling: Ceiling;
  /** The configuration names this DaemonSet, and not only its class or labels. */
  named: boolean;
  /** NAME of the startup taint of nodegap that waits for it. */
  startupName?: string;
}

export interface AuditContext {
  facts: PreventionFacts;
  config: Config;
  /** Mode of the cluster; undefined when the configuration has no such cluster. */
  mode?: Mode;
  required: readonly RequiredDaemonSet[];
  /** Nodes that count: not Fargate, not hybrid, not leaving. Undefined when they were not read. */
  nodes?: readonly Node[];
  pools: readonly Pool[];
  /** Why attachers may be missing from `pools`. */
  unread: readonly string[];
}

export type Finding = AuditFinding & { check: AuditCheck };

/** What a check says. */
export interface Checked {
  findings: Finding[];
  notChecked: (NotChecked & { check: AuditCheck })[];
}

export type Check = (context: AuditContext) => Checked;

export function contextOf(facts: PreventionFacts, config: Config): AuditContext {
  const nodes =
    facts.nodes.kind === 'read'
      ? facts.nodes.items.map(({ object }) => object).filter(isCounted)
      : undefined;
  const mode = config.clusters.find(({ name }) => name === facts.cluster)?.mode;
  const pools = poolsOf(facts, nodes ?? []);
  return {
    facts,
    config,
    ...(mode === undefined ? {} : { mode }),
    required: facts.daemonSets.flatMap((found) => requiredOf(found, config)),
    ...(nodes === undefined ? {} : { nodes }),
    pools,
    unread: [
      ...unreadAttachers(facts),
      ...pools.flatMap(({ unread }) => (unread === undefined ? [] : [unread])),
    ],
  };
}

function requiredOf(found: Found<WrittenDaemonSet>, config: Config): RequiredDaemonSet[] {
  const { object } = found;
  const requirement = requirementOf(config, object);
  if (requirement === undefined || object.metadata.deletionTimestamp !== undefined) return [];
  const startupName = startupNameOf(config, object);
  const by = entryFor(config, object)?.by;
  return [
    {
      ...requiredFrom(found, requirement.ceiling),
      named: by === 'name' || by === 'namespaced-name',
      ...(startupName === undefined ? {} : { startupName }),
    },
  ];
}

/** A DaemonSet prepared as if it were required. */
export function requiredFrom(
  { object, origin }: Found<WrittenDaemonSet>,
  ceiling: Ceiling,
): RequiredDaemonSet {
  const { name, namespace } = object.metadata;
  const compiled = compileDaemonSet(object);
  return {
    object,
    key: compiled.key,
    subject: {
      kind: 'DaemonSet',
      ...(namespace === undefined ? {} : { namespace }),
      name,
      origin,
    },
    compiled,
    template: object.spec.template.spec,
    ceiling,
    named: false,
  };
}

/** Nodes on which the DaemonSet is meant to run, whatever passing taints say. */
export function eligibleNodes(
  { nodes = [], config }: AuditContext,
  { compiled }: RequiredDaemonSet,
): Node[] {
  const startup = new Set(config.startupTaints);
  return nodes.filter(
    (node) => intentOf(node, sortTaints(node, startup), compiled).kind === 'eligible',
  );
}

/** Whether nothing that was read rules out that it runs somewhere. */
export function mayRun(
  { nodes = [], pools }: AuditContext,
  { compiled, template }: RequiredDaemonSet,
): boolean {
  if (nodes.length === 0 && pools.length === 0) return true;
  return (
    nodes.some((node) => compiled.selection(node) === undefined) ||
    pools.some((pool) => poolSelection(pool, template) !== 'no')
  );
}

/** The change of a DaemonSet, workload or NodePool. */
export function change(
  { facts }: AuditContext,
  subject: AuditSubject,
  kind: PatchedKind,
  patch: Record<string, unknown>,
): string {
  return patchOf(facts.source, subject, kind, patch);
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(items: readonly string[]): string {
  const last = items.at(-1) ?? '';
  return items.length < 2 ? last : `${items.slice(0, -1).join(', ')} and ${last}`;
}
