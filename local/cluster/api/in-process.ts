import type { Transport } from '../../../lib/kubernetes/transport.ts';
import { unreachableBecause } from '../../../lib/kubernetes/unreachable.ts';
import type { ApiServer } from './api-server.ts';
import { answerRequest, type HttpServerOptions } from './http-server.ts';

/**
 * A transport to the simulated API server without a socket between: the same requests, answers and
 * disturbances as over HTTP, for runs of many virtual hours.
 */
export function inProcessTransport(
  api: ApiServer,
  options: Pick<HttpServerOptions, 'hooks' | 'catchUp'>,
): Transport {
  const stats = { requests: 0, connections: 0, throttled: 0, bytesReceived: 0, bytesDecoded: 0 };
  const server = 'http://simulated.invalid';
  return {
    server,
    stats,
    async request({ method, path, query = {}, headers = {}, body = '' }) {
      stats.requests += 1;
      const contentType = Object.entries(headers).find(
        ([name]) => name.toLowerCase() === 'content-type',
      )?.[1];
      const answer = await answerRequest(
        api,
        options,
        {
          method,
          path,
          query: new URLSearchParams(query),
          contentType: contentType?.split(';')[0]?.trim() ?? '',
          body,
          identity: undefined,
        },
        false,
      );
      if (answer === 'cut') throw unreachableBecause('reset', server, 'the connection was cut');
      const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
      const bytes = Buffer.from(text);
      stats.bytesReceived += bytes.length;
      stats.bytesDecoded += bytes.length;
      return {
        status: answer.status,
        headers: {
          'content-type': typeof answer.body === 'string' ? 'text/plain' : 'application/json',
          ...(answer.retryAfterSeconds === undefined
            ? {}
            : { 'retry-after': String(answer.retryAfterSeconds) }),
        },
        body: bytes,
      };
    },
    close: () => undefined,
  };
}
