import type { TaskEvent } from '../../lib/remediation/workflow-state.ts';
import { type Step, type TellingPorts, tellNode, tellUnsaid } from './node-event.ts';
import { taskHandler } from './task.ts';

/** What leads to the end of the attempt is told by Report, with the outcome. */
const toldByReport = ['release', 'stay-isolated'];

/**
 * A `taskHandler` of a state that writes in the cluster: says on the node what the reading states
 * before it left unsaid, and then its own result.
 */
export function tellingHandler<Result extends { code: string; message: string; next?: string }>(
  name: 'RestartDaemonPod' | 'ReplaceNode' | 'ReleaseNode',
  ports: TellingPorts,
  typeOf: (result: Result) => Step['type'],
  run: (event: TaskEvent) => Promise<Result>,
): (event: unknown) => Promise<Result> {
  return taskHandler(name, ports.log, async (event) => {
    const { state, execution } = event;
    const result = await run(event);
    const { code, message } = result;
    // An execution that has lost its slot, redriven after hours for example, has nothing to say.
    if (!toldByReport.includes(result.next ?? '') && code !== 'slot-lost') {
      if (name !== 'ReleaseNode') await tellUnsaid(ports, name, state, execution);
      await tellNode(ports, state, execution, { code, message, type: typeOf(result) });
    }
    return result;
  });
}
