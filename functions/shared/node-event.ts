import { messageOf } from '../../lib/errors.ts';
import type { NodeEvent } from '../../lib/ports.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import type { Ports } from './ports.ts';
import { attemptIds } from './task.ts';

/** What happened to a node, in the words of the step that did it. */
export interface Step {
  /** Stable code, as in docs/reason-codes.md: `isolated` becomes the reason `NodegapIsolated`. */
  code: string;
  message: string;
  type: NodeEvent['type'];
}

/**
 * Writes an Event on the node, so that `kubectl describe node` tells what nodegap does to it. The
 * step itself is done and recorded: an Event that cannot be written is logged and counted, and
 * changes nothing.
 */
export async function tellNode(
  ports: Pick<Ports, 'clients' | 'log' | 'metrics'>,
  state: WorkflowState,
  execution: string,
  step: Step,
): Promise<void> {
  try {
    const client = await ports.clients.connect(state.cluster);
    await client.createNodeEvent({
      node: state.node,
      nodeUid: state.nodeUid,
      type: step.type,
      reason: reasonOf(step.code),
      message: `${step.message} (episode ${state.episode}, attempt ${state.attempt})`,
    });
  } catch (error) {
    ports.metrics.count('NodeEventFailed', 1, { cluster: state.cluster });
    ports.log.warn('an Event could not be written on the node', {
      ...attemptIds(state, execution),
      code: step.code,
      error: messageOf(error),
    });
  }
}

function reasonOf(code: string): string {
  const words = code.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `Nodegap${words.join('')}`;
}
