/**
 * Holds the state table of tests in this process against the rights that the stack gives each
 * function of the workflow, so that every test of a whole attempt finds a right that is missing.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setFunctions, type TableAction } from '../../cdk/functions.ts';
import type { StateTable } from '../../lib/ports.ts';

const running = new AsyncLocalStorage<string>();

/** The handler of a function, known by its name to `checkedTable`. */
export function withRightsOf<E, R>(
  functionName: string,
  handler: (event: E) => Promise<R>,
): (event: E) => Promise<R> {
  return (event) => running.run(functionName, () => handler(event));
}

const actionOf: Record<string, TableAction> = {
  put: 'PutItem',
  update: 'UpdateItem',
  delete: 'DeleteItem',
  check: 'ConditionCheckItem',
};

/** The table, which refuses what the function that runs has no right to. */
export function checkedTable(table: StateTable): StateTable {
  const need = (action: TableAction | undefined) => {
    const name = running.getStore();
    if (name === undefined) return;
    const granted = setFunctions[name as keyof typeof setFunctions].table;
    if (action === undefined || !granted.includes(action)) {
      throw new Error(`${name} has no right to dynamodb:${action}: see cdk/functions.ts`);
    }
  };
  return {
    async get(key) {
      need('GetItem');
      return table.get(key);
    },
    async query(pk, prefix) {
      need('Query');
      return table.query(pk, prefix);
    },
    async transact(writes, token) {
      for (const { kind } of writes) need(actionOf[kind]);
      return table.transact(writes, token);
    },
  };
}
