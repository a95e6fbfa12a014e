import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { assetPath } from './tools.ts';

/** On every DaemonSet pod: what is to become of it. Only the fault injector sets it. */
export const OUTCOME_ANNOTATION = 'nodegap-test/outcome';

interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

/** A kwok Stage: one step which the fake kubelet takes with an object that the selector matches. */
export interface Stage {
  metadata: { name: string };
  spec: { selector: { matchExpressions?: Requirement[] }; [field: string]: unknown };
  [field: string]: unknown;
}

const OUTCOME = `.metadata.annotations["${OUTCOME_ANNOTATION}"]`;
const OWNER_KIND = '.metadata.ownerReferences.[].kind';

/**
 * All Stages of the fake kubelet: kwok's own ones for nodes and for pods that start fast, changed
 * for DaemonSet pods, and one for each fault.
 *
 * A Stage sees one object only, so it cannot know that a pod is on a certain node. Hence a
 * DaemonSet pod stays Pending until the fault injector has written its outcome on it; there is
 * no race between the two.
 */
export function composeStages(kwok: readonly Stage[], faults: readonly Stage[]): Stage[] {
  return [...kwok.flatMap(adapt), ...faults];
}

function adapt(stage: Stage): Stage[] {
  const alive = { key: '.metadata.deletionTimestamp', operator: 'DoesNotExist' };
  switch (stage.metadata.name) {
    case 'pod-ready':
      return [
        withRequirements(stage, 'pod-ready', [
          ...(stage.spec.selector.matchExpressions ?? []),
          { key: OWNER_KIND, operator: 'NotIn', values: ['DaemonSet'] },
        ]),
        // Also for a pod that has been in a fault, hence without "has no IP yet".
        withRequirements(stage, 'pod-ready-daemonset', [
          alive,
          { key: OUTCOME, operator: 'In', values: ['ready', 'stuck-terminating'] },
          {
            key: '.status.conditions.[] | select( .type == "Ready" ) | .status',
            operator: 'NotIn',
            values: ['True'],
          },
        ]),
      ];
    case 'pod-delete':
      return [
        withRequirements(stage, 'pod-delete', [
          ...(stage.spec.selector.matchExpressions ?? []),
          { key: OUTCOME, operator: 'NotIn', values: ['stuck-terminating'] },
        ]),
      ];
    default:
      return [stage];
  }
}

function withRequirements(stage: Stage, name: string, matchExpressions: Requirement[]): Stage {
  return { ...stage, metadata: { name }, spec: { ...stage.spec, selector: { matchExpressions } } };
}

/** The configuration file of kwok. */
export function kwokConfiguration(): string {
  const kwok = [
    'node-initialize',
    'node-heartbeat-with-lease',
    'pod-ready',
    'pod-complete',
    'pod-delete',
  ].map((name) => readStage(assetPath('kwok', `${name}.yaml`)));
  const folder = join(import.meta.dirname, 'stages');
  const faults = readdirSync(folder)
    .sort()
    .map((file) => readStage(join(folder, file)));
  return composeStages(kwok, faults)
    .map((stage) => stringify(stage, { lineWidth: 0 }))
    .join('---\n');
}

function readStage(file: string): Stage {
  return parse(readFileSync(file, 'utf8')) as Stage;
}
