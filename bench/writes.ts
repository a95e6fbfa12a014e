/** Many writes to an API server, as fast as it takes them. */
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';

const sockets = 48;

export interface Write {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  body: unknown;
  /** Shows as the manager in managedFields. */
  manager: string;
}

/** Writes over 48 kept connections. Every answer but success is an error. */
export class BulkWriter {
  readonly #agent: Agent;
  readonly #server: string;
  readonly #token: string;

  constructor(options: { server: string; ca: string; token: string }) {
    this.#server = options.server;
    this.#token = options.token;
    this.#agent = new Agent({ keepAlive: true, maxSockets: sockets, ca: options.ca });
  }

  /** Runs `work` for each item, as many at a time as there are connections. */
  async forEach<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
    const iterator = items[Symbol.iterator]();
    const worker = async () => {
      for (let next = iterator.next(); !next.done; next = iterator.next()) await work(next.value);
    };
    await Promise.all(Array.from({ length: sockets }, worker));
  }

  send({ method, path, body, manager }: Write): Promise<void> {
    const payload = JSON.stringify(body);
    const type = method === 'PATCH' ? 'application/strategic-merge-patch+json' : 'application/json';
    return new Promise((resolve, reject) => {
      const call = request(
        new URL(path, this.#server),
        {
          method,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.#token}`,
            'user-agent': `${manager}/v1.36`,
            'content-type': type,
            'content-length': Buffer.byteLength(payload),
          },
        },
        (response) => settle(`${method} ${path}`, response).then(resolve, reject),
      );
      call.on('error', reject);
      call.end(payload);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function settle(what: string, response: IncomingMessage): Promise<void> {
  const body = await text(response);
  const status = response.statusCode ?? 0;
  if (status >= 300) throw new Error(`${what} was answered ${status}: ${body.slice(0, 500)}`);
}
