/**
 * Stands between the machine and its handlers, so that a signal can stop work at a moment at which it
 * is known what was done: no handler is cut short, and none begins while the gate is closed.
 */
import { NodegapError } from '../../lib/errors.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import type { AslDefinition } from '../workflow/definition.ts';
import type { TaskHandler } from '../workflow/runner.ts';

/** The last that is known of the attempt: what its next state would be called with. */
export interface LastKnown {
  execution: string;
  state: WorkflowState;
}

export class Gate {
  readonly #keys: ReadonlyMap<string, readonly string[]>;
  readonly #working = new Set<Promise<unknown>>();
  #closed: PromiseWithResolvers<void> | undefined;
  #last: LastKnown | undefined;

  constructor(definition: AslDefinition) {
    this.#keys = resultKeys(definition);
  }

  /** Undefined before the first handler was called. */
  get last(): LastKnown | undefined {
    return this.#last;
  }

  /** The handler behind the gate. */
  wrap(name: string, handler: TaskHandler): TaskHandler {
    return async (event) => {
      await this.#closed?.promise;
      const { execution, state } = event as unknown as LastKnown;
      this.#last = { execution, state };
      const work = handler(event);
      this.#working.add(work);
      try {
        const result = await work;
        const key = keyFor(this.#keys.get(name) ?? [], state);
        if (key !== undefined) this.#last = { execution, state: { ...state, [key]: result } };
        return result;
      } finally {
        this.#working.delete(work);
      }
    };
  }

  /** Lets no handler begin any more. Resolves when those that had begun have ended. */
  async close(): Promise<void> {
    this.#closed ??= Promise.withResolvers();
    await Promise.allSettled([...this.#working]);
  }

  /** Ends the handlers that wait: they never begin. Their timers would keep the process alive. */
  abandon(): void {
    this.#closed?.promise.catch(() => undefined);
    this.#closed?.reject(new NodegapError('Interrupted', 'a person ended the attempt'));
  }

  /** Lets the handlers that wait, and all others, begin. */
  open(): void {
    this.#closed?.resolve();
    this.#closed = undefined;
  }
}

/** Where the results of each function lie in the state of the machine, by its definition. */
function resultKeys({ States }: AslDefinition): ReadonlyMap<string, readonly string[]> {
  const keys = new Map<string, string[]>();
  for (const { Type, Resource = '', ResultPath } of Object.values(States)) {
    const name = Resource.split(':').at(-1) ?? '';
    const key = /^\$\.(\w+)$/.exec(String(ResultPath))?.[1];
    if (Type !== 'Task' || key === undefined) continue;
    keys.set(name, [...(keys.get(name) ?? []), key]);
  }
  return keys;
}

/** A function of several states comes to the later one when the earlier has its result. */
function keyFor(keys: readonly string[], state: WorkflowState): string | undefined {
  const results: Record<string, unknown> = { ...state };
  const ordered = keys.toSorted((a, b) => keyOrder.indexOf(a) - keyOrder.indexOf(b));
  return ordered.find((key) => results[key] === undefined) ?? ordered.at(-1);
}

const keyOrder = ['slot', 'place'];
