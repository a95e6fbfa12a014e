/**
 * Holds what functions called against what their roles allow, both ways: nothing is called that is
 * not allowed, and nothing is allowed that is never called.
 */
import { type AwsCall, accessesOf, type CalledAccount, operationOf } from './aws-calls.ts';
import { type AccessRequest, evaluate, namesAction, type PolicyStatement } from './policy.ts';

export interface FunctionCall extends AwsCall {
  /** Name in AWS of the function that made it. */
  caller: string;
}

/** Rights that no code of the functions uses by a call of its own, and why they are there. */
export interface Exception {
  /** Matches names of functions without the prefix of the installation. */
  functions: RegExp;
  actions: string[];
  reason: string;
}

export interface Policies {
  /** What the role of a function allows. */
  of(functionName: string): PolicyStatement[] | undefined;
}

/** Calls that the role of their function does not allow, one line each. */
export function refusedCalls(
  calls: readonly FunctionCall[],
  policies: Policies,
  account: CalledAccount,
): string[] {
  const refused = new Set<string>();
  for (const call of calls) {
    const statements = policies.of(call.caller);
    if (statements === undefined) {
      refused.add(`${call.caller} has no role in the stack, and calls ${operationOf(call)}`);
      continue;
    }
    for (const access of accessesOf(call, account)) {
      const { kind } = evaluate(statements, access);
      if (kind !== 'allowed') refused.add(refusal(call, access, kind));
    }
  }
  return [...refused];
}

function refusal(call: FunctionCall, access: AccessRequest, kind: string): string {
  const keys = Object.entries(access.context).map(([key, value]) => ` with ${key} ${value}`);
  return (
    `${call.caller} calls ${operationOf(call)}, but ${access.action} on ${access.resource}` +
    `${keys.join('')} is ${kind === 'denied' ? 'denied to' : 'not granted to'} its role`
  );
}

/** A right as the tables of cdk/ give it: an action, whatever the resource. */
export interface Right {
  functionName: string;
  action: string;
}

/** Every right that is granted to a function, once. */
export function rightsOf(functionName: string, statements: readonly PolicyStatement[]): Right[] {
  const actions = statements
    .filter(({ Effect }) => Effect === 'Allow')
    .flatMap(({ Action }) => Action);
  return [...new Set(actions)].map((action) => ({ functionName, action }));
}

/**
 * Rights that no recorded call has used, and exceptions that excuse nothing, one line each.
 * `rights` and the callers of `calls` bear the names without the prefix of an installation.
 */
export function unusedRights(
  rights: readonly Right[],
  calls: readonly FunctionCall[],
  exceptions: readonly Exception[],
  account: CalledAccount,
): string[] {
  const used = new Map<string, Set<string>>();
  for (const call of calls) {
    const actions = used.get(call.caller) ?? new Set();
    for (const { action } of accessesOf(call, account)) actions.add(action);
    used.set(call.caller, actions);
  }
  const isUsed = ({ functionName, action }: Right) =>
    [...(used.get(functionName) ?? [])].some((each) =>
      namesAction({ Effect: 'Allow', Action: action, Resource: '*' }, each),
    );
  const idle = rights.filter((right) => !isUsed(right));
  const excuses = (exception: Exception, { functionName, action }: Right) =>
    exception.functions.test(functionName) && exception.actions.includes(action);
  return [
    ...idle
      .filter((right) => !exceptions.some((exception) => excuses(exception, right)))
      .map(
        ({ functionName, action }) =>
          `${functionName} may call ${action}, and no recorded call of it does: take the right ` +
          'away, make a scenario call it, or say in the exceptions why it is there',
      ),
    ...exceptions.flatMap((exception) =>
      exception.actions
        .filter(
          (action) => !idle.some((right) => right.action === action && excuses(exception, right)),
        )
        .map((action) => `the exception for ${action} (${exception.reason}) excuses nothing`),
    ),
  ];
}
