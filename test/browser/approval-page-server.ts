/** The approval page behind a server on loopback, which does what the HTTP API does in AWS. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AskedQuestion } from '../functions/approval-page-fixture.ts';

export interface ServedPage {
  /** The link of the notice, as it is on this server. */
  link: string;
  /** Methods of the requests for the page, in order. */
  methods: string[];
  close(): Promise<void>;
}

export async function serve(asked: AskedQuestion): Promise<ServedPage> {
  const methods: string[] = [];
  const server = createServer((request, response) => {
    void answer(asked, request, response, methods);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    link: `http://127.0.0.1:${port}${new URL(asked.link).pathname}`,
    methods,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  asked: AskedQuestion,
  request: IncomingMessage,
  response: ServerResponse,
  methods: string[],
): Promise<void> {
  const { pathname, search } = new URL(request.url ?? '/', 'http://page');
  const [, root, id, secret, ...more] = pathname.split('/');
  if (root === 'favicon.ico') {
    // Chromium asks for it where the policy of the page is bypassed.
    response.writeHead(204).end();
    return;
  }
  if (root !== 'approvals' || id === undefined || secret === undefined || more.length > 0) {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"message":"Not Found"}');
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = 'GET', headers } = request;
  methods.push(method);
  const {
    statusCode,
    headers: sent,
    body,
  } = await asked.send(method, {
    id,
    secret,
    query: search.slice(1),
    body: Buffer.concat(chunks).toString('base64'),
    isBase64Encoded: true,
    contentType: headers['content-type'] ?? '',
  });
  response.writeHead(statusCode, sent).end(body);
}
