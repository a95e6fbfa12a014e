/**
 * The functions of an installation as Lambda runs them: each is the module that is deployed, called
 * through its `handler`, with the environment of the stack, and with clients and caches of its own.
 * What it calls on AWS is recorded under its name, and what it prints is kept.
 *
 * How it works: a module is imported anew for each installation. Its handler binds the AWS ports at
 * its first call, synchronously, from the environment that is put in place right before.
 */
import { readdirSync } from 'node:fs';
import { setFunctions } from '../../cdk/functions.ts';
import type { Environment } from '../../functions/shared/environment.ts';
import type { Account } from './account.ts';
import { callingAs } from './call-recorder.ts';
import { type Output, printed } from './function-output.ts';

type Handler = (event: Record<string, unknown>) => Promise<unknown>;

const files = readdirSync(new URL('../../functions', import.meta.url))
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.slice(0, -'.ts'.length));

/** Stands in front of a handler: tests make tasks fail with it. */
export type WrapHandler = (file: string, handler: Handler) => Handler;

export interface DeployedFunctions {
  /** Name in AWS of the function with that file in functions/. */
  nameOf(file: string): string;
  /** Calls a function as its trigger does. */
  call<R>(file: string, event: unknown): Promise<R>;
  /** What all of them have printed. */
  output: Output;
}

export interface DeployOptions {
  prefix: string;
  environment: Environment;
  wrapHandler?: WrapHandler;
}

/** Makes the functions answer invocations. */
export async function deployFunctions(
  aws: Account,
  options: DeployOptions,
): Promise<DeployedFunctions> {
  const { prefix, wrapHandler = (_file, handler) => handler } = options;
  const environment = environmentOf(options.environment);
  // Functions outside the sets have no network in their name.
  const nameOf = (file: string) => `${prefix}-${file in setFunctions ? 'public-' : ''}${file}`;
  const handlers = new Map<string, Handler>();
  for (const file of files) {
    const module = await import(/* @vite-ignore */ `../../functions/${file}.ts?of=${prefix}`);
    const deployed: Handler = (event) => {
      Object.assign(process.env, environment);
      return module.handler(event);
    };
    const handler = wrapHandler(file, deployed);
    handlers.set(file, handler);
    aws.functions.set(nameOf(file), (event) => handler(event as Record<string, unknown>));
  }
  return {
    nameOf,
    output: printed(prefix),
    call: async <R>(file: string, event: unknown) => {
      const handler = handlers.get(file);
      if (handler === undefined) throw new Error(`there is no function ${file}`);
      return (await callingAs(nameOf(file), () => handler(event as Record<string, unknown>))) as R;
    },
  };
}

function environmentOf({
  STATE_MACHINES,
  ADMIT_MACHINES,
  SCAN_FUNCTIONS,
  TAINT_CONDITIONS_FUNCTIONS,
  ...texts
}: Environment) {
  return {
    ...texts,
    STATE_MACHINES: JSON.stringify(STATE_MACHINES),
    ADMIT_MACHINES: JSON.stringify(ADMIT_MACHINES ?? {}),
    SCAN_FUNCTIONS: JSON.stringify(SCAN_FUNCTIONS),
    TAINT_CONDITIONS_FUNCTIONS: JSON.stringify(TAINT_CONDITIONS_FUNCTIONS),
    NETWORK: 'public',
    POWERTOOLS_SERVICE_NAME: 'nodegap',
    POWERTOOLS_METRICS_NAMESPACE: 'nodegap',
    POWERTOOLS_LOG_LEVEL: 'INFO',
  };
}
