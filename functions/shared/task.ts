import { NodegapError } from '../../lib/errors.ts';
import {
  type TaskEvent,
  taskEventSchema,
  type WorkflowState,
} from '../../lib/remediation/workflow-state.ts';
import type * as z from '../../lib/zod.ts';
import type { Log } from './ports.ts';

/** The ids that every log line of an attempt carries. */
export function attemptIds(state: WorkflowState, execution: string): Record<string, unknown> {
  const { cluster, node, nodeUid, episode, attempt } = state;
  return { cluster, node, nodeUid, episode, attempt, execution };
}

/** Parses `event` or throws `BadInput`, which names the field. */
export function parseEvent<T>(schema: z.ZodMiniType<T>, event: unknown): T {
  const parsed = schema.safeParse(event);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new NodegapError(
    'BadInput',
    `${issue?.path.join('.') || 'input'}: ${issue?.message ?? 'not understood'}`,
    { cause: parsed.error },
  );
}

/**
 * Makes the handler of one state: parses what the machine passes, runs, and logs what was
 * answered, all under the ids of the attempt.
 */
export function taskHandler<Result extends object>(
  name: string,
  log: Log,
  run: (event: TaskEvent) => Promise<Result>,
): (event: unknown) => Promise<Result> {
  return async (event) => {
    const parsed = parseEvent(taskEventSchema, event);
    const ids = attemptIds(parsed.state, parsed.execution);
    try {
      const result = await run(parsed);
      log.info(name, { ...ids, result });
      return result;
    } catch (error) {
      log.error(`${name} failed`, { ...ids, error });
      throw error;
    }
  };
}
