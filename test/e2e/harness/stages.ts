import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { faultStages, GOES_ON } from './fault-stages.ts';
import { OUTCOME_QUERY, type Requirement, type Stage, type StagePatch, show } from './outcomes.ts';
import { assetPath } from './tools.ts';

/** A kubelet with nothing new to tell reports every 5 minutes (nodeStatusReportFrequency). */
export const HEARTBEAT_SECONDS = 300;

const OWNER_KIND = '.metadata.ownerReferences.[].kind';

/**
 * All Stages of the fake kubelet: kwok's own ones for nodes and for pods that start fast, changed
 * for DaemonSet pods, and one for each fault.
 *
 * A Stage sees one object only, so it cannot know that a pod is on a certain node. Hence a
 * DaemonSet pod stays Pending until the fault injector has written its outcome on it; there is
 * no race between the two.
 */
export function composeStages(
  kwok: readonly Stage[],
  faults: readonly Stage[],
  heartbeatSeconds = HEARTBEAT_SECONDS,
): Stage[] {
  const adapted = kwok.flatMap((stage) =>
    stage.metadata.name === 'node-heartbeat-with-lease'
      ? [steadyHeartbeat(stage, heartbeatSeconds)]
      : adapt(stage),
  );
  return [...adapted, ...faults];
}

/**
 * kwok begins its wait anew whenever the node changes, so a node that is changed again and again,
 * as Karpenter does with its own, would never report. Here the wait ends some time after the last
 * report, whatever else happens. And a report repeats what conditions say: a pressure that a test
 * has set stays.
 */
function steadyHeartbeat(stage: Stage, seconds: number): Stage {
  const lastReport =
    '.status.conditions.[] | select( .type == "Ready" ) | .lastHeartbeatTime // empty';
  const statusTemplate = `
{{ $now := Now }}
{{ $own := list }}
{{ range NodeConditions }}{{ $own = append $own .type }}{{ end }}
conditions:
{{ range .status.conditions }}
{{ if has .type $own }}
- {{ toJson ( merge ( dict "lastHeartbeatTime" $now ) . ) }}
{{ end }}
{{ end }}
`;
  return {
    ...stage,
    spec: {
      ...stage.spec,
      delay: {
        durationMilliseconds: seconds * 1000,
        durationFrom: {
          expressionFrom: `${lastReport} | fromdateiso8601 + ${seconds} | todateiso8601`,
        },
      },
      next: { statusTemplate },
    },
  };
}

function adapt(stage: Stage): Stage[] {
  const requirements = stage.spec.selector.matchExpressions ?? [];
  switch (stage.metadata.name) {
    case 'pod-ready':
      return [
        withRequirements(stage, 'pod-ready', [
          ...requirements,
          { key: OWNER_KIND, operator: 'NotIn', values: ['DaemonSet'] },
        ]),
        readyAgain(stage),
      ];
    case 'pod-delete':
      return [
        withRequirements(stage, 'pod-delete', [
          ...requirements,
          { key: OUTCOME_QUERY, operator: 'NotIn', values: ['stuck-terminating'] },
        ]),
      ];
    default:
      return [stage];
  }
}

/** For DaemonSet pods, also for one that has been in a fault, hence without "has no IP yet". */
function readyAgain(podReady: Stage): Stage {
  const stage = withRequirements(podReady, 'pod-ready-daemonset', [
    ...GOES_ON,
    { key: OUTCOME_QUERY, operator: 'In', values: ['ready', 'stuck-terminating'] },
    {
      key: '.status.conditions.[] | select( .type == "Ready" ) | .status',
      operator: 'NotIn',
      values: ['True'],
    },
  ]);
  const status: StagePatch = {
    root: 'status',
    subresource: 'status',
    template: withSandbox(podReady.spec.next.statusTemplate ?? ''),
  };
  return { ...stage, spec: { ...stage.spec, next: { patches: [show('ready'), status] } } };
}

/** kwok says nothing of the sandbox; a fault may have said that there is none. */
function withSandbox(template: string): string {
  const before = '\nconditions:\n';
  if (!template.includes(before)) throw new Error('the Stage pod-ready of kwok sets no conditions');
  return template.replace(
    before,
    `${before}- lastTransitionTime: {{ $now | Quote }}\n  status: "True"\n  type: PodReadyToStartContainers\n`,
  );
}

function withRequirements(stage: Stage, name: string, matchExpressions: Requirement[]): Stage {
  return { ...stage, metadata: { name }, spec: { ...stage.spec, selector: { matchExpressions } } };
}

/** The configuration file of kwok. */
export function kwokConfiguration(heartbeatSeconds?: number): string {
  const kwok = [
    'node-initialize',
    'node-heartbeat-with-lease',
    'pod-ready',
    'pod-complete',
    'pod-delete',
  ].map((name) => readStage(assetPath('kwok', `${name}.yaml`)));
  return composeStages(kwok, faultStages(), heartbeatSeconds)
    .map((stage) => stringify(stage, { lineWidth: 0 }))
    .join('---\n');
}

function readStage(file: string): Stage {
  return parse(readFileSync(file, 'utf8')) as Stage;
}
