/**
 * Records which function calls which AWS operation, on the wire.
 *
 * How it works: a function runs inside `callingAs`; every HTTP request that begins there gets a
 * header with the function's name, before it is sent and whatever sends it. The proxy in front of
 * moto reads the header, so what is recorded is what went out and not what a client was asked.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { AwsCall } from '../permissions/aws-calls.ts';

export interface RecordedCall extends AwsCall {
  /** Name in AWS of the function whose code made the call. */
  caller: string;
}

const callerHeader = 'x-test-calling-function';
const created = 'http.client.request.created';
const callers = new AsyncLocalStorage<string>();

/** Runs the code of a function. Its requests bear its name from now on. */
export function callingAs<T>(functionName: string, run: () => T): T {
  return callers.run(functionName, run);
}

/** Name of the function whose code runs right now. */
export function callerNow(): string | undefined {
  return callers.getStore();
}

export class CallRecorder {
  readonly calls: RecordedCall[] = [];
  readonly #machines = new Map<string, string>();
  readonly #mark = (message: unknown) => {
    const caller = callers.getStore();
    if (caller !== undefined) {
      (message as { request: ClientRequest }).request.setHeader(callerHeader, caller);
    }
  };

  constructor() {
    subscribe(created, this.#mark);
  }

  close(): void {
    unsubscribe(created, this.#mark);
  }

  /** Takes down a request that the endpoint got, when a function made it. */
  record(
    { method = '', url = '', headers }: IncomingMessage,
    body: Buffer,
  ): RecordedCall | undefined {
    const path = url.split('?')[0] ?? '';
    this.#noteToken(body);
    const caller = headers[callerHeader];
    if (typeof caller !== 'string') return undefined;
    const scope = /Credential=[^/]+\/\d+\/([^/]+)\/([^/]+)\/aws4_request/.exec(
      headers.authorization ?? '',
    );
    if (scope === null) throw new Error(`${caller} sent an unsigned request: ${method} ${path}`);
    const [, region = '', service = ''] = scope;
    const target = headers['x-amz-target'];
    const call = {
      caller,
      service,
      region,
      method,
      path,
      target: typeof target === 'string' ? target : undefined,
      body: body.toString(),
    };
    this.calls.push(call);
    return call;
  }

  /** ARN of the machine whose task got that token. */
  machineOf(taskToken: string): string {
    const machine = this.#machines.get(taskToken);
    if (machine === undefined) throw new Error('no task got that token');
    return machine;
  }

  /** A machine hands out a token together with the execution that waits for it. */
  #noteToken(body: Buffer): void {
    if (!body.includes('"taskToken"') || !body.includes('"execution"')) return;
    const { taskToken, execution } = JSON.parse(body.toString()) as Record<string, unknown>;
    if (typeof taskToken !== 'string' || typeof execution !== 'string') return;
    const machine = execution.replace(':execution:', ':stateMachine:').replace(/:[^:]*$/, '');
    this.#machines.set(taskToken, machine);
  }
}
