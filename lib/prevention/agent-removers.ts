/** Whether somebody is there who takes the startup taint of a known agent off again. */
import type { KnownAgent } from './agents.ts';
import { parseImage } from './agents.ts';
import type {
  Found,
  PreventionFacts,
  Workload,
  WrittenContainer,
  WrittenDaemonSet,
} from './facts.ts';

export type RemoverState =
  /** It takes taints of `key` off; another key than the agent's own when somebody changed it. */
  | { kind: 'on'; key: string; because: string }
  | { kind: 'off'; because: string }
  /** The facts do not tell: objects were not read, or are not kept. */
  | { kind: 'unknown'; because: string };

export type RemoverFacts = Pick<PreventionFacts, 'source' | 'workloads' | 'configMaps'>;

/**
 * Whether the remover of `agent` is on. `daemonSets` are the agent's own (agentOf): the CSI drivers
 * remove from within their pods, so one of theirs that does not is enough to say `off`.
 */
export function removerState(
  agent: KnownAgent,
  daemonSets: readonly Found<WrittenDaemonSet>[],
  facts: RemoverFacts,
): RemoverState {
  switch (agent.remover.by) {
    case 'agent':
      return driverState(agent, agent.remover, daemonSets);
    case 'cilium-operator':
      return ciliumState(agent, facts);
    case 'istiod':
      return istiodState(agent, facts);
  }
}

function driverState(
  agent: KnownAgent,
  remover: Extract<KnownAgent['remover'], { by: 'agent' }>,
  daemonSets: readonly Found<WrittenDaemonSet>[],
): RemoverState {
  if (daemonSets.length === 0) return { kind: 'off', because: `no DaemonSet runs ${agent.title}` };
  let unknown: string | undefined;
  for (const { object } of daemonSets) {
    const { name } = object.metadata;
    const containers = object.spec.template.spec.containers ?? [];
    const { offVariable, since } = remover;
    if (offVariable !== undefined && isSet(variableOf(containers, offVariable))) {
      return { kind: 'off', because: `${name} has env ${offVariable}` };
    }
    if (since === undefined) continue;
    const tag = tagOf(containers, agent);
    const older = tag === undefined ? undefined : isOlder(tag, since);
    if (older === true) {
      return { kind: 'off', because: `${name} is ${tag}, and ${since} was the first to do it` };
    }
    if (older === undefined) unknown ??= `the image of ${name} does not say its version`;
  }
  if (unknown !== undefined) return { kind: 'unknown', because: unknown };
  return { kind: 'on', key: agent.taintKey, because: `${agent.title} does it by default` };
}

function ciliumState(agent: KnownAgent, facts: RemoverFacts): RemoverState {
  const { workloads, configMaps } = facts;
  const named = deploymentsOf(workloads, /^cilium-operator$/);
  const missing = missingState(facts, named, 'cilium-operator');
  if (missing !== undefined) return missing;
  const map =
    configMaps.kind === 'read'
      ? configMaps.items.find(({ object }) => object.name === 'cilium-config')?.object
      : undefined;
  const containers = named.flatMap((each) => each.containers ?? []);
  const setting = (flag: string): string | undefined =>
    flagOf(containers, flag) ?? map?.settings?.[flag];
  const remove = setting('remove-cilium-node-taints');
  if (remove === 'false') {
    return { kind: 'off', because: 'remove-cilium-node-taints of cilium-operator is false' };
  }
  const keyKept = map?.settings !== undefined || !map?.keys.includes('remove-cilium-node-taints');
  if (remove === undefined && (configMaps.kind !== 'read' || !keyKept)) {
    return {
      kind: 'unknown',
      because: 'ConfigMap cilium-config, which may turn it off, was not read',
    };
  }
  const key = setting('agent-not-ready-taint-key') ?? agent.taintKey;
  const because =
    remove === undefined ? 'cilium-operator does it by default' : 'cilium-operator is told to';
  return { kind: 'on', key, because };
}

function istiodState(agent: KnownAgent, facts: RemoverFacts): RemoverState {
  const { workloads } = facts;
  const istiods = deploymentsOf(workloads, /^istiod(-|$)/);
  const missing = missingState(facts, istiods, 'istiod');
  if (missing !== undefined) return missing;
  const on = istiods.find(
    ({ containers = [] }) =>
      variableOf(containers, 'PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS')?.toLowerCase() === 'true',
  );
  if (on === undefined) {
    const because = 'istiod has no env PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS=true';
    return { kind: 'off', because };
  }
  const key = variableOf(on.containers ?? [], 'PILOT_NODE_UNTAINT_CONTROLLERS_TAINT_NAME');
  return {
    kind: 'on',
    key: isSet(key) ? key : agent.taintKey,
    because: `${on.metadata.name} has env PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS=true`,
  };
}

function deploymentsOf(workloads: PreventionFacts['workloads'], name: RegExp): Workload[] {
  if (workloads.kind !== 'read') return [];
  return workloads.items
    .map(({ object }) => object)
    .filter(({ kind, metadata }) => kind === 'Deployment' && name.test(metadata.name));
}

function missingState(
  { source, workloads }: RemoverFacts,
  found: readonly Workload[],
  name: string,
): RemoverState | undefined {
  if (workloads.kind !== 'read') return { kind: 'unknown', because: workloads.reason };
  if (found.length === 0) {
    // A folder of manifests need not hold everything that runs.
    return source === 'manifests'
      ? { kind: 'unknown', because: `Deployment ${name} is not among the manifests` }
      : { kind: 'off', because: `there is no Deployment ${name}` };
  }
  if (found.every(({ replicas }) => replicas === 0)) {
    return { kind: 'off', because: `Deployment ${name} has no replicas` };
  }
  if (found.every(({ containers }) => containers === undefined)) {
    return { kind: 'unknown', because: `the settings of Deployment ${name} were not read` };
  }
  return undefined;
}

function nameOf({ image }: WrittenContainer): string {
  return image === undefined ? '' : parseImage(image).name;
}

function tagOf(containers: readonly WrittenContainer[], { signs }: KnownAgent): string | undefined {
  const main = containers.find((container) => signs.images.includes(nameOf(container)));
  return main?.image === undefined ? undefined : parseImage(main.image).tag;
}

function variableOf(containers: readonly WrittenContainer[], name: string): string | undefined {
  return containers.flatMap(({ env = [] }) => env).find((each) => each.name === name)?.value;
}

/** The value of `--flag=value`; a flag without a value is `true`, as cobra has it for booleans. */
function flagOf(containers: readonly WrittenContainer[], flag: string): string | undefined {
  const words = containers.flatMap(({ command = [], args = [] }) => [...command, ...args]);
  for (const word of words) {
    if (word === `--${flag}`) return 'true';
    if (word.startsWith(`--${flag}=`)) return word.slice(flag.length + 3);
  }
  return undefined;
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== '';
}

/** Whether `v1.18.0-eksbuild.1` is older than `1.19.0`; undefined when the tag is no version. */
function isOlder(tag: string, than: string): boolean | undefined {
  const match = /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(tag);
  if (match === null) return undefined;
  const limit = than.split('.').map(Number);
  for (const [index, wanted] of limit.entries()) {
    const has = Number(match[index + 1] ?? 0);
    if (has !== wanted) return has < wanted;
  }
  return false;
}
