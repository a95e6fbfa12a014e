import { messageOf } from '../../lib/errors.ts';
import type { Clusters, ClusterWriter, NodeEvent } from '../../lib/ports.ts';
import { unsaidBefore } from '../../lib/remediation/told-on-node.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import type { Ports } from './ports.ts';
import { attemptIds } from './task.ts';

/** What happened to a node, in the words of the step that did it. */
export interface Step {
  /** Stable code, as in docs/reason-codes.md: `isolated` becomes the reason `NodegapIsolated`. */
  code: string;
  message: string;
  type: NodeEvent['type'];
  /** Names pods, so that another message is another Event and not the same one counted up. */
  lists?: boolean;
}

export type TellingPorts = Pick<Ports, 'config' | 'log' | 'metrics'> & {
  clients: Clusters<Pick<ClusterWriter, 'createNodeEvent'>>;
};

/** There is no node to write on, or none that is the one meant. */
const gone = ['node-gone', 'node-recreated'];

/**
 * Writes an Event on the node, so that `kubectl describe node` tells what nodegap does to it and
 * why it does not. The same said again in an episode counts up. The step itself is done and
 * recorded: an Event that cannot be written is logged and counted, and changes nothing. In mode
 * observe nothing is written.
 */
export async function tellNode(
  ports: TellingPorts,
  state: WorkflowState,
  execution: string,
  step: Step,
): Promise<void> {
  if (gone.includes(step.code)) return;
  try {
    const { config } = await ports.config();
    const mode = config.clusters.find(({ name }) => name === state.cluster)?.mode;
    if (mode !== 'act') return;
    const client = await ports.clients.connect(state.cluster);
    await client.createNodeEvent({
      node: state.node,
      nodeUid: state.nodeUid,
      type: step.type,
      reason: reasonOf(step.code),
      message: `${step.message} (episode ${state.episode}, attempt ${state.attempt})`,
      ...(step.lists === true ? {} : { series: `episode ${state.episode}` }),
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

/** Says what the reading states before this one found, which they may not write themselves. */
export async function tellUnsaid(
  ports: TellingPorts,
  acting: Parameters<typeof unsaidBefore>[0],
  state: WorkflowState,
  execution: string,
): Promise<void> {
  for (const { code, message } of unsaidBefore(acting, state)) {
    await tellNode(ports, state, execution, { code, message, type: 'Normal' });
  }
}

/** `image-pull` becomes `NodegapImagePull`. */
export function reasonOf(code: string): string {
  const words = code.split('-').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return `Nodegap${words.join('')}`;
}
