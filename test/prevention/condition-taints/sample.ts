import { isoTime } from '../../../lib/clock.ts';
import { loadConfig } from '../../../lib/config/load.ts';
import { poolOf, zoneOf } from '../../../lib/gap/node-kinds.ts';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import { decideConditionTaints } from '../../../lib/prevention/condition-taints/decide.ts';
import type {
  ConditionTaintDecision,
  ConditionTaintFacts,
  TaintVerdict,
} from '../../../lib/prevention/condition-taints/model.ts';
import { conditionTaintsAnnotation } from '../../../lib/prevention/condition-taints/taint.ts';
import { countScopes } from '../../../lib/safety/scope-counts.ts';
import { condition, type NodeOptions, node, now, second } from '../../gap/build.ts';

export const installation = '111122223333/eu-west-1/nodegap';
export const key = 'nodegap.dev/condition-cni';

export function configOf(yaml: string) {
  return loadConfig(
    `clusters:\n  - { name: prod, region: eu-west-1, mode: act }\n${yaml}`,
    'nodegap.yaml',
  ).config;
}

export const rule = (more = '') =>
  `conditionTaints: [{ name: cni, type: CNIUnwell, status: True, reasons: ["Socket*"]${more} }]\n`;
export const config = configOf(rule());

/** The condition with that status for so long, reported 20 s ago. */
export function says(status: string, age: number, more: Record<string, string> = {}) {
  return condition('CNIUnwell', status, age, {
    reason: status === 'True' ? 'SocketGone' : 'SocketThere',
    lastHeartbeatTime: isoTime(now - 20 * second),
    ...more,
  });
}

/** A Ready node with these conditions besides. */
export function nodeWith(
  conditions: ReturnType<typeof condition>[],
  options: NodeOptions & { name?: string } = {},
): Node {
  const { name = 'n1', ...rest } = options;
  const made = node(name, rest);
  return { ...made, status: { conditions: [...(made.status.conditions ?? []), ...conditions] } };
}

export const noteOf = (effect = 'NoSchedule', name = 'cni', by = installation) => ({
  [conditionTaintsAnnotation]: JSON.stringify({
    installation: by,
    taints: { [name]: { effect, since: isoTime(now), at: isoTime(now) } },
  }),
});

/** A node that bears the taint by our own hand. */
export function tainted(
  conditions: ReturnType<typeof condition>[],
  options: NodeOptions & { name?: string } = {},
  effect = 'NoSchedule',
): Node {
  return nodeWith(conditions, {
    taints: [{ key, effect }],
    ...options,
    metadata: { annotations: noteOf(effect), ...options.metadata },
  });
}

export function decide(
  facts: Partial<ConditionTaintFacts>,
  using = config,
  at = now,
): ConditionTaintDecision {
  const nodes = facts.nodes ?? [];
  const { maxUnhealthyPercent: percent, unhealthyInOneZone: zoneAtLeast } = using.breaker;
  return decideConditionTaints(
    {
      nodes,
      daemonSets: [],
      installation,
      remembered: [],
      counts: countScopes({
        nodes: [...nodes],
        gaps: [],
        inWork: [],
        percent,
        zoneAtLeast,
        isCounted: () => true,
        poolOf,
        zoneOf,
      }),
      breakerStates: [],
      holdOf: () => undefined,
      vetoOf: () => undefined,
      doubt: undefined,
      ...facts,
    },
    using,
    at,
  );
}

/** `add n1 cni condition-taint-added` for each verdict. */
export function told({ verdicts }: { verdicts: readonly TaintVerdict[] }): string[] {
  return verdicts.map(
    ({ kind, node, name, code }) => `${kind} ${node.metadata.name} ${name} ${code}`,
  );
}
