/** What had to come out of each scenario, judged on the objects of its cluster. Pure. */
import { conditionOf, type Node, type Pod } from '../../lib/kubernetes/objects.ts';
import { isolationAnnotation } from '../../lib/safety/ownership.ts';
import type { AuditEntry } from '../cluster/api/api-server.ts';
import { poolOf } from '../cluster/labels.ts';
import type { Check, Ending } from './ending.ts';
import { requiredDaemonSets } from './platform.ts';

/** Who plays what in scenario A. */
export interface RepairCast {
  /** The node whose CNI never starts. */
  sick: { name: string; uid: string; claim: string; pool: string };
  /** The node whose gap heals. */
  healing: { name: string; uid: string };
}

/** Scenario A: one node given back as it was, one replaced for good, budgets kept. */
export function checkRepair({ sick, healing }: RepairCast, ending: Ending): Check[] {
  return [
    ...checkHealed(healing, ending),
    ...checkReplaced(sick, ending),
    check('no budget was violated', ending.breaches.length === 0, ending.breaches[0] ?? 'none was'),
    check(
      'a budget refused an eviction before it gave way',
      countRefusals(ending.writes) > 0,
      `${countRefusals(ending.writes)} evictions refused`,
    ),
    checkOnlyTouched([sick.name, healing.name], ending.writes),
    ...checkFailures(ending),
  ];
}

function checkHealed(healing: RepairCast['healing'], ending: Ending): Check[] {
  const node = ending.nodes.find(({ metadata }) => metadata.uid === healing.uid);
  const missing = node === undefined ? requiredDaemonSets : missingOn(node, ending.pods);
  const touches = node === undefined ? ['the node is gone'] : tracesOn(node);
  return [
    outcomeCheck('the healed node ended as recovered', healing, 'recovered', ending),
    wasIsolated('the healed node was isolated first', healing.name, ending),
    check('the healed node is uncordoned and unmarked', touches.length === 0, list(touches)),
    check('its required DaemonSets are Ready', missing.length === 0, list(missing)),
  ];
}

function checkReplaced(sick: RepairCast['sick'], ending: Ending): Check[] {
  const left = [
    ...ending.nodes.filter(({ metadata }) => metadata.uid === sick.uid).map(() => 'the node'),
    ...ending.claims.filter(({ metadata }) => metadata.name === sick.claim).map(() => 'its claim'),
    ...ending.machines
      .filter(({ node, state }) => node === sick.name && state !== 'terminated')
      .map(({ state }) => `its instance, ${state}`),
  ];
  const successor = successorOf(sick, ending);
  const missing = successor === undefined ? [] : missingOn(successor, ending.pods);
  const isReady =
    successor !== undefined &&
    conditionOf(successor.status.conditions, 'Ready')?.status === 'True' &&
    missing.length === 0;
  const successorText =
    successor === undefined
      ? `no new node in pool ${sick.pool}`
      : `${successor.metadata.name}, missing: ${list(missing)}`;
  return [
    outcomeCheck('the sick node ended as replaced', sick, 'replaced', ending),
    wasIsolated('the sick node was isolated first', sick.name, ending),
    check('the sick node, its claim and its instance are gone', left.length === 0, list(left)),
    check('a new node is Ready with every required DaemonSet', isReady, successorText),
  ];
}

/** The node that the pool of the sick node got after that one was cordoned. */
export function successorOf(sick: RepairCast['sick'], ending: Ending): Node | undefined {
  const cordonedAt = timeOf(ending, 'node-cordoned', sick.name) ?? Number.POSITIVE_INFINITY;
  const added = ending.happenings.findLast(
    (one) => one.kind === 'node-added' && one.pool === sick.pool && one.at > cordonedAt,
  );
  if (added === undefined || !('node' in added)) return undefined;
  return ending.nodes.find(
    (node) => node.metadata.name === added.node && poolOf(node) === sick.pool,
  );
}

/** Scenario B: one alert names the DaemonSet, and no node is touched. */
export function checkAlerted(daemonSet: string, nodes: number, ending: Ending): Check[] {
  const alerts = ending.notices.filter(({ notice }) => notice.kind === 'alert');
  const [first] = alerts;
  const gaps = ending.scans.at(-1)?.result.gaps ?? 0;
  return [
    check('the gap is on every node', gaps === nodes, `${gaps} gaps on ${nodes} nodes`),
    check(
      'people were alerted exactly once',
      alerts.length === 1 && first?.notice.body.split('\n', 1)[0]?.includes(daemonSet) === true,
      `${alerts.length} alerts${first === undefined ? '' : `, the first: ${first.notice.body.split('\n', 1)[0] ?? ''}`}`,
    ),
    ...checkUntouched(ending),
  ];
}

/** Scenario C: the breaker opened, said so once, and held. */
export function checkHeld(
  numbers: { unhealthy: number; total: number; limit: number },
  ending: Ending,
): Check[] {
  const opened = ending.notices.filter(({ notice }) => notice.kind === 'breaker');
  const said = `${numbers.unhealthy} of ${numbers.total} nodes unhealthy`;
  const body = opened[0]?.notice.body ?? '';
  const others = ending.notices.length - opened.length;
  const last = ending.scans.at(-1)?.result;
  return [
    check(
      `the breaker opened at ${numbers.unhealthy} of ${numbers.total}, limit ${numbers.limit}`,
      body.includes(said) && body.includes(`limit ${numbers.limit}`),
      body === '' ? 'no notice of it' : (body.split('\n', 1)[0] ?? ''),
    ),
    check(
      'people were told exactly once',
      opened.length === 1 && others === 0,
      `${opened.length} notices of the breaker, ${others} others`,
    ),
    check(
      'the gaps are still there and not acted on',
      last?.gaps === numbers.unhealthy && last.actionable === 0,
      `${last?.gaps ?? 0} gaps, ${last?.actionable ?? 0} actionable`,
    ),
    ...checkUntouched(ending),
  ];
}

/** No request that changes anything, no execution, no trace on any node. */
function checkUntouched(ending: Ending): Check[] {
  const traces = ending.nodes.filter((node) => tracesOn(node).length > 0);
  return [
    check(
      'nothing was written to the cluster',
      ending.writes.length === 0,
      `${ending.writes.length} write requests`,
    ),
    check(
      'no execution was started',
      ending.attempts.length === 0,
      `${ending.attempts.length} executions`,
    ),
    check(
      'no node is cordoned, tainted or marked',
      traces.length === 0,
      list(traces.map((node) => node.metadata.name)),
    ),
    ...checkFailures(ending),
  ];
}

function checkFailures(ending: Ending): Check[] {
  const { failures } = ending;
  return [check('no handler failed', failures.length === 0, failures[0] ?? 'none did')];
}

function outcomeCheck(
  what: string,
  target: { uid: string },
  wanted: string,
  ending: Ending,
): Check {
  const attempts = ending.attempts.filter(({ nodeUid }) => nodeUid === target.uid);
  const last = attempts.at(-1);
  const found = `${last?.status ?? 'no execution'}${last?.outcome === undefined ? '' : `, ${last.outcome.code}`}`;
  return check(what, last?.status === 'SUCCEEDED' && last.outcome?.code === wanted, found);
}

function wasIsolated(what: string, node: string, ending: Ending): Check {
  const at = timeOf(ending, 'node-cordoned', node);
  return check(what, at !== undefined, at === undefined ? 'it was never cordoned' : 'cordoned');
}

/** Writes to nodes and evictions belong to the two nodes of the scenario and to no other. */
function checkOnlyTouched(nodes: string[], writes: readonly AuditEntry[]): Check {
  const patched = writes.flatMap(({ method, path }) =>
    method === 'PATCH' ? [path.replace('/api/v1/nodes/', '')] : [],
  );
  const others = [...new Set(patched)].filter((name) => !nodes.includes(name));
  return check('no other node was touched', others.length === 0, list(others));
}

/** When something first happened to a node, epoch ms. */
export function timeOf(ending: Ending, kind: string, node: string): number | undefined {
  return ending.happenings.find((one) => one.kind === kind && 'node' in one && one.node === node)
    ?.at;
}

/** Evictions that a budget refused. */
export function countRefusals(writes: readonly AuditEntry[]): number {
  return writes.filter((entry) => isEviction(entry) && entry.status === 429).length;
}

export function countEvictions(writes: readonly AuditEntry[]): number {
  return writes.filter((entry) => isEviction(entry) && entry.status < 300).length;
}

export function isEviction({ path }: AuditEntry): boolean {
  return path.endsWith('/eviction');
}

/** What nodegap or a person may have left on a node. */
function tracesOn(node: Node): string[] {
  return [
    ...(node.spec.unschedulable === true ? ['cordoned'] : []),
    ...(node.spec.taints ?? []).filter(({ key }) => key.startsWith('nodegap.dev/')).map(taintText),
    ...(node.metadata.annotations?.[isolationAnnotation] === undefined ? [] : ['marked']),
  ];
}

function taintText({ key }: { key: string }): string {
  return `taint ${key}`;
}

/** Required DaemonSets that have no Ready pod on the node. */
export function missingOn(node: Node, pods: readonly Pod[]): string[] {
  const ready = new Set(
    pods
      .filter(
        ({ metadata, spec, status }) =>
          spec.nodeName === node.metadata.name &&
          metadata.deletionTimestamp === undefined &&
          conditionOf(status.conditions, 'Ready')?.status === 'True',
      )
      .flatMap(({ metadata }) =>
        (metadata.ownerReferences ?? [])
          .filter(({ kind }) => kind === 'DaemonSet')
          .map(({ name }) => `${metadata.namespace ?? ''}/${name}`),
      ),
  );
  return requiredDaemonSets.filter((daemonSet) => !ready.has(daemonSet));
}

function check(what: string, ok: boolean, found: string): Check {
  return { what, ok, found };
}

function list(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.join(', ');
}
