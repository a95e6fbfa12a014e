/** What people hear of a pass of the drain: Events on the node, log lines, a count of deletions. */
import type { DrainBlocker, DrainStep } from '../../lib/remediation/drain-model.ts';
import type { DrainResult, WorkflowState } from '../../lib/remediation/workflow-state.ts';
import { type Step, tellNode } from './node-event.ts';
import type { ActingPorts } from './ports.ts';
import { attemptIds } from './task.ts';

export interface DrainNews {
  /** What was done to pods. */
  steps: DrainStep[];
  /** Undefined when the pass failed. */
  result: DrainResult | undefined;
  blockers: DrainBlocker[];
  /** The blockers of the pass before. */
  before: DrainBlocker[];
}

/** Codes of results that stand on the node whenever they come up. */
const ends = ['drain-blocked', 'drain-incomplete', 'drained', 'drained-with-volumes'];
/** Codes of passes that are told when they begin. */
const onceInARow = ['volumes-attached', 'evidence-unsaved'];
/** Pods named in one Event. */
const mostNamed = 5;

export async function tellDrain(
  ports: Pick<ActingPorts, 'clients' | 'config' | 'log' | 'metrics'>,
  state: WorkflowState,
  execution: string,
  { steps, result, blockers, before }: DrainNews,
): Promise<void> {
  for (const step of steps) {
    ports.log.info(`pod ${step.kind}`, { ...attemptIds(state, execution), ...step });
  }
  const tell = (step: Step) => tellNode(ports, state, execution, step);

  const losses = steps.flatMap((step) =>
    step.kind === 'evicted' && step.warnings.length > 0
      ? [`${nameOf(step)} (${step.warnings.join('; ')})`]
      : [],
  );
  if (losses.length > 0) {
    const message = `evicted ${named(losses)}`;
    await tell({ code: 'evicted-with-loss', message, type: 'Warning', lists: true });
  }
  const deletions = steps.flatMap((step) =>
    step.kind === 'deleted'
      ? [`${nameOf(step)} with a grace of ${step.graceSeconds} s (${step.because})`]
      : [],
  );
  if (deletions.length > 0) {
    ports.metrics.count('PodsDeleted', deletions.length, { cluster: state.cluster });
    const message = `deleted by drain.force: ${named(deletions)}`;
    await tell({ code: 'pods-deleted', message, type: 'Warning', lists: true });
  }

  if (result === undefined) return;
  const { code, message } = result;
  const isNew = code !== state.drain?.code;
  // What leads back into hold-down is an end of this drain too.
  if (ends.includes(code) || result.next === 'recheck') {
    await tell({
      code,
      message,
      type: ends.includes(code) && code !== 'drained' ? 'Warning' : 'Normal',
    });
  } else if (onceInARow.includes(code) ? isNew : code === 'draining' && isNews(blockers, before)) {
    await tell({ code, message, type: 'Warning' });
  }
}

/** Whether another pod is in the way, or for another reason: not for every pass in between. */
function isNews(blockers: DrainBlocker[], before: DrainBlocker[]): boolean {
  const known = new Set(before.map(({ pod, kind }) => `${pod.uid} ${kind}`));
  return blockers.some(({ pod, kind }) => !known.has(`${pod.uid} ${kind}`));
}

function nameOf({ pod }: DrainStep): string {
  return `${pod.namespace}/${pod.name}`;
}

function named(pods: string[]): string {
  const more = pods.length > mostNamed ? ` and ${pods.length - mostNamed} more` : '';
  return `${pods.slice(0, mostNamed).join('; ')}${more}`;
}
