/**
 * The functions of an installation, each bound as its Lambda binds it: clients and caches of its
 * own, made at its first call, and its clusters found through EKS. What it calls on AWS is recorded
 * under its name.
 */
import { inspect } from 'node:util';
import { workflowFunctionNames } from '../../cdk/workflow/remediate-node.ts';
import { makeHandler as answerApproval } from '../../functions/answer-approval.ts';
import { makeHandler as janitor } from '../../functions/janitor.ts';
import { makeHandler as publishConfig } from '../../functions/publish-config.ts';
import { makeHandler as routeEvent, type ScanStarter } from '../../functions/route-event.ts';
import { makeHandler as scanCluster } from '../../functions/scan-cluster.ts';
import { clients } from '../../functions/shared/aws-clients.ts';
import {
  awsPorts,
  notifier,
  publisher,
  readers,
  startScan,
  workflow,
} from '../../functions/shared/aws-ports.ts';
import type { Environment } from '../../functions/shared/environment.ts';
import { createLog } from '../../functions/shared/log.ts';
import type { Log, Ports } from '../../functions/shared/ports.ts';
import { workflowHandlers } from '../../local/embedded.ts';
import type { Account } from './account.ts';
import { callingAs } from './call-recorder.ts';

export type AllPorts = Ports & ScanStarter;
type Handler = (event: never) => Promise<unknown>;

/** Functions that live in a set; the others are outside and have no network in their name. */
const outsideSets = {
  'answer-approval': answerApproval,
  janitor,
  'publish-config': publishConfig,
  'route-event': routeEvent,
};

export interface DeployedFunctions {
  /** Name in AWS of the function with that file in functions/. */
  nameOf(file: string): string;
  /** Calls a function as its trigger does. */
  call<R>(file: string, event: unknown): Promise<R>;
  /** Every line that was logged, as text. */
  logs: string[];
  metrics: string[];
}

export interface DeployOptions {
  prefix: string;
  environment: Environment;
  /** Stands in front of a handler: tests make tasks fail with it. */
  wrapHandler?: WrapHandler;
}

export type WrapHandler = (
  file: string,
  handler: (event: Record<string, unknown>) => Promise<unknown>,
) => (event: Record<string, unknown>) => Promise<unknown>;

/** Makes the functions answer invocations. */
export function deployFunctions(aws: Account, options: DeployOptions): DeployedFunctions {
  const { prefix, environment, wrapHandler = (_file, handler) => handler } = options;
  const logs: string[] = [];
  const metrics: string[] = [];
  const nameOf = (file: string) => `${prefix}-${file in outsideSets ? '' : 'public-'}${file}`;

  function ports(): AllPorts {
    const factories = { readers, clients, workflow, notifier, publisher, startScan };
    return {
      ...awsPorts(factories, environment),
      log: recordingLog(logs),
      metrics: {
        count: (name, value, dimensions) => {
          metrics.push(`${name} ${Object.values(dimensions).join(' ')} ${value}`);
        },
      },
    };
  }
  const makers: Record<string, () => Handler> = {
    'scan-cluster': () => scanCluster(ports()),
    ...Object.fromEntries(
      Object.entries(outsideSets).map(([file, make]) => [file, () => make(ports()) as Handler]),
    ),
    ...Object.fromEntries(
      workflowFunctionNames.map((file) => [
        file,
        () => workflowHandlers(ports())[file] as unknown as Handler,
      ]),
    ),
  };
  const handlers = new Map(
    Object.entries(makers).map(([file, make]) => {
      let bound: ((event: Record<string, unknown>) => Promise<unknown>) | undefined;
      const handler = (event: unknown) => {
        bound ??= wrapHandler(file, make() as (event: Record<string, unknown>) => Promise<unknown>);
        return bound(event as Record<string, unknown>);
      };
      aws.functions.set(nameOf(file), handler);
      return [file, handler] as const;
    }),
  );
  return {
    nameOf,
    logs,
    metrics,
    call: async <R>(file: string, event: unknown) => {
      const handler = handlers.get(file);
      if (handler === undefined) throw new Error(`there is no function ${file}`);
      return (await callingAs(nameOf(file), () => handler(event))) as R;
    },
  };
}

/** The real filter of log fields, and every line kept. */
function recordingLog(lines: string[]): Log {
  const keep = (message: string, ...extra: unknown[]) => {
    lines.push(
      `${message} ${inspect(extra, { depth: null, maxStringLength: null, breakLength: Number.POSITIVE_INFINITY })}`,
    );
  };
  return createLog({ info: keep, warn: keep, error: keep } as Parameters<typeof createLog>[0]);
}
