/** The functions of the stack that people call from here, under their own IAM identity. */
import type { Command } from 'commander';
import { withAwsFailures } from './aws-failure.ts';
import type { Io } from './io.ts';

export interface TargetOptions {
  region?: string;
  function: string;
}

/** The flags by which the function is found. `what` it does is for the help. */
export function addTarget(command: Command, functionName: string, what: string): Command {
  return command
    .option('--region <region>', 'AWS region of the stack')
    .option('--function <name>', `the function that ${what}`, functionName);
}

/** A client of the function. What AWS refuses is said in words. */
export async function accountClient(
  io: Io,
  { region, function: functionName }: TargetOptions,
): ReturnType<Io['account']> {
  const target = { functionName, region: region ?? io.env.AWS_REGION };
  const client = await io.account({ functionName, ...(region === undefined ? {} : { region }) });
  return {
    ask: (request) => withAwsFailures(target, () => client.ask(request)),
    identity: () => withAwsFailures(target, () => client.identity()),
  };
}
