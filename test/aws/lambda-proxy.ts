/**
 * Stands in front of moto and is the AWS endpoint of everybody, moto's own Step Functions included:
 * answers invocations of Lambda functions with handlers of this process, and passes on the rest.
 *
 * How it works: moto calls AWS at `localhost:$MOTO_PORT`. So this listens first, moto is started
 * with that port in its environment, and `forwardTo` tells where moto listens itself.
 *
 * Gotcha: moto takes requests in parallel and isolates nothing. A transaction of DynamoDB that fails
 * puts the whole table back, with what others wrote meanwhile, and two equal StartExecutions at once
 * start two executions. AWS does neither, so these requests are passed on one at a time.
 */
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
  request as sendRequest,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { operationOf } from '../permissions/aws-calls.ts';
import { CallRecorder, callingAs, type RecordedCall } from './call-recorder.ts';
import type { Answers, Reply } from './simulated-services.ts';

export type LambdaHandler = (event: unknown) => Promise<unknown>;

export interface LambdaProxy {
  endpoint: string;
  port: number;
  /** By the name of the function in AWS. */
  handlers: Map<string, LambdaHandler>;
  /** What the functions have called so far. */
  recorder: CallRecorder;
  /**
   * Answers operations instead of moto when a function calls them, for what moto has not: by the
   * first part of the function's name.
   */
  answers: Map<string, Answers>;
  forwardTo(port: number): void;
  close(): Promise<void>;
}

const invocation = /^\/2015-03-31\/functions\/([^/]+)\/invocations/;
const oneAtATime = /^(DynamoDB_|AWSStepFunctions\.StartExecution$)/;

/** Listens on a free port of 127.0.0.1. */
export async function startLambdaProxy(): Promise<LambdaProxy> {
  const handlers = new Map<string, LambdaHandler>();
  const recorder = new CallRecorder();
  const answers: LambdaProxy['answers'] = new Map();
  let motoPort = 0;
  let queue: Promise<void> = Promise.resolve();
  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error: unknown) => {
      if (!outgoing.headersSent) outgoing.writeHead(502);
      outgoing.end(String(error));
    });
  });

  function answerTo(call: RecordedCall): Promise<Reply> | undefined {
    const owner = [...answers.keys()].find((prefix) => call.caller.startsWith(`${prefix}-`));
    return answers.get(owner ?? '')?.[operationOf(call)]?.(call);
  }

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming);
    const call = recorder.record(incoming, body);
    const instead = call === undefined ? undefined : answerTo(call);
    if (instead !== undefined) {
      const reply = await instead;
      const isXml = 'xml' in reply;
      outgoing.writeHead('status' in reply ? reply.status : 200, {
        'content-type': isXml ? 'text/xml' : 'application/json',
      });
      outgoing.end(isXml ? reply.xml : JSON.stringify(reply.json));
      return;
    }
    const name = invocation.exec(incoming.url ?? '')?.[1];
    if (name !== undefined) {
      const functionName = functionNameOf(decodeURIComponent(name));
      const handler = handlers.get(functionName);
      const run = handler && ((event: unknown) => callingAs(functionName, () => handler(event)));
      await invoke(run, body, incoming.headers['x-amz-invocation-type'] === 'Event', outgoing);
      return;
    }
    const forward = () => passOn(incoming, body, motoPort, outgoing);
    if (!oneAtATime.test(String(incoming.headers['x-amz-target']))) return forward();
    const turn = queue.then(forward);
    queue = turn.catch(() => undefined);
    return turn;
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    port,
    handlers,
    recorder,
    answers,
    forwardTo: (target) => {
      motoPort = target;
    },
    close: () =>
      new Promise((resolve, reject) => {
        recorder.close();
        server.close((error) => (error === undefined ? resolve() : reject(error)));
        server.closeAllConnections();
      }),
  };
}

/** As Lambda answers: a failed function is a 200 with a header that says so. */
async function invoke(
  handler: LambdaHandler | undefined,
  body: Buffer,
  async: boolean,
  outgoing: ServerResponse,
): Promise<void> {
  if (handler === undefined) {
    outgoing.writeHead(404, { 'x-amzn-errortype': 'ResourceNotFoundException' });
    outgoing.end(JSON.stringify({ Message: 'Function not found' }));
    return;
  }
  const run = async () => handler(JSON.parse(body.toString() || 'null'));
  if (async) {
    outgoing.writeHead(202).end();
    await run().catch(() => undefined);
    return;
  }
  try {
    const result = await run();
    outgoing.writeHead(200, { 'content-type': 'application/json' });
    outgoing.end(JSON.stringify(result) ?? 'null');
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    outgoing.writeHead(200, { 'x-amz-function-error': 'Unhandled' });
    outgoing.end(JSON.stringify({ errorType: name, errorMessage: message }));
  }
}

function passOn(
  incoming: IncomingMessage,
  body: Buffer,
  port: number,
  outgoing: ServerResponse,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const { method, url, headers } = incoming;
    const sent = sendRequest(
      { host: '127.0.0.1', port, method, path: url, headers, agent: false },
      (answered) => {
        outgoing.writeHead(answered.statusCode ?? 502, answered.headers);
        answered.pipe(outgoing);
        answered.once('end', resolve).once('error', reject);
      },
    );
    sent.once('error', reject);
    sent.end(body);
  });
}

/** Of a name or an ARN, with or without a version. */
function functionNameOf(nameOrArn: string): string {
  const parts = nameOrArn.split(':');
  return parts[0] === 'arn' ? (parts[6] ?? '') : (parts[0] ?? '');
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
