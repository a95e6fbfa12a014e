/** What goes wrong between nodegap and the world, in the order in which it was armed. */
import { NodegapError } from '../../lib/errors.ts';
import type { Transport, TransportRequest } from '../../lib/kubernetes/transport.ts';
import { unreachableBecause } from '../../lib/kubernetes/unreachable.ts';
import type { Item, ItemKey, StateTable, TransactOutcome, Write } from '../../lib/ports.ts';
import type { DiscreteClock } from '../workflow/clock.ts';
import { boundary, invocation } from './invocation.ts';

export const apiTargets = [
  'read',
  'claims-read',
  'write',
  'node-patch',
  'eviction',
  'claim-delete',
] as const;
export const statuses = [401, 403, 404, 409, 410, 429, 500, 503] as const;
export const wires = ['cut', 'timeout', 'slow', 'die'] as const;
export const tableTargets = ['get', 'query', 'transact'] as const;
export const edges = ['notify', 'publish', 'start', 'status', 'answer', 'evidence'] as const;

export type Trouble = {
  /** Calls of that kind that are let through first. */
  skip: number;
  /** Calls that it strikes. */
  times: number;
} & (
  | {
      at: 'api';
      target: (typeof apiTargets)[number];
      how: (typeof statuses)[number] | (typeof wires)[number];
      /** The request is carried out all the same. */
      afterwards: boolean;
    }
  | { at: 'table'; target: (typeof tableTargets)[number]; how: 'lost' | 'refused' | 'slow' | 'die' }
  | { at: 'edge'; target: (typeof edges)[number] }
);

const reasons: Record<number, string> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

export class Troubles {
  #armed: Trouble[] = [];
  /** While set, every request to the API server is answered with it. */
  outage: number | undefined;
  /** How many have struck: what may fail for them is no finding. */
  struck = 0;

  arm(trouble: Trouble): void {
    this.#armed.push({ ...trouble });
  }

  clear(): void {
    this.#armed = [];
    this.outage = undefined;
  }

  /** The trouble that this call meets, if any. */
  strike<K extends Trouble['at']>(
    at: K,
    targets: readonly string[],
  ): Extract<Trouble, { at: K }> | undefined {
    const found = this.#armed.find((one) => one.at === at && targets.includes(one.target));
    if (found === undefined) return undefined;
    if (found.skip > 0) {
      found.skip -= 1;
      return undefined;
    }
    found.times -= 1;
    if (found.times <= 0) this.#armed = this.#armed.filter((one) => one !== found);
    this.struck += 1;
    return found as Extract<Trouble, { at: K }>;
  }

  async edge(clock: DiscreteClock, target: (typeof edges)[number]): Promise<void> {
    await boundary(clock);
    if (this.strike('edge', [target]) === undefined) return;
    const code = target === 'notify' ? 'Notice.Unavailable' : 'Edge.Unavailable';
    throw new NodegapError(code, `${target} did not answer`);
  }
}

type Answer = Awaited<ReturnType<Transport['request']>>;

/** Sees every request that changes something, at the moment in which it is carried out. */
export interface WriteWatch {
  before(request: TransportRequest): (status: number) => void;
}

export function troubledTransport(
  plain: Transport,
  clock: DiscreteClock,
  troubles: Troubles,
  watch: WriteWatch,
): Transport {
  const carryOut = async (request: TransportRequest): Promise<Answer> => {
    if (request.method === 'GET') return plain.request(request);
    const after = watch.before(request);
    const answer = await plain.request(request);
    after(answer.status);
    return answer;
  };
  const attempt = async (request: TransportRequest): Promise<Answer> => {
    if (troubles.outage !== undefined) {
      await boundary(clock);
      return refusal(request, troubles.outage);
    }
    const trouble = troubles.strike('api', targetsOf(request));
    if (trouble === undefined) {
      await boundary(clock);
      return carryOut(request);
    }
    const { how, afterwards } = trouble;
    if (how === 'slow') {
      await boundary(clock, 20_000);
      return carryOut(request);
    }
    if (how === 'die') {
      if (afterwards) await carryOut(request);
      const own = invocation();
      if (own !== undefined) own.diesAt = own.calls + 1;
      await boundary(clock);
      return carryOut(request);
    }
    await boundary(clock, how === 'timeout' ? 15_000 : 0);
    if (afterwards) await carryOut(request);
    if (how === 'cut') throw unreachableBecause('reset', plain.server, 'the connection was cut');
    if (how === 'timeout') throw unreachableBecause('timeout', plain.server, 'no answer in time');
    return refusal(request, how);
  };
  return {
    ...plain,
    async request(request) {
      const own = invocation();
      try {
        const answer = await attempt(request);
        if (request.method === 'GET' && own !== undefined) {
          // Said of NodeClaims, 404 is an answer to the reader: Karpenter is not served here.
          const isAnswer = answer.status === 404 && request.path.endsWith('/nodeclaims');
          if (answer.status === 200 || isAnswer) own.failedReads.delete(request.path);
          else own.failedReads.add(request.path);
        }
        return answer;
      } catch (error) {
        if (request.method === 'GET') own?.failedReads.add(request.path);
        throw error;
      }
    },
  };
}

function targetsOf({ method, path }: TransportRequest): string[] {
  if (method === 'GET') return path.endsWith('/nodeclaims') ? ['read', 'claims-read'] : ['read'];
  if (path.endsWith('/events') || path.includes('/events/')) return ['write'];
  if (path.endsWith('/eviction')) return ['write', 'eviction'];
  return ['write', method === 'DELETE' ? 'claim-delete' : 'node-patch'];
}

function refusal({ path }: TransportRequest, status: number): Answer {
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `made to fail with ${status}: ${path}`,
    reason: reasons[status] ?? '',
    code: status,
  };
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (status === 429) headers['retry-after'] = '2';
  return { status, headers, body: Buffer.from(JSON.stringify(body)) };
}

export class TroubledTable implements StateTable {
  readonly #plain: StateTable;
  readonly #clock: DiscreteClock;
  readonly #troubles: Troubles;
  readonly #onWrite: (writes: Write[]) => void;

  /** `onWrite` is called after each transaction that was carried out. */
  constructor(
    plain: StateTable,
    clock: DiscreteClock,
    troubles: Troubles,
    onWrite: (writes: Write[]) => void,
  ) {
    this.#plain = plain;
    this.#clock = clock;
    this.#troubles = troubles;
    this.#onWrite = onWrite;
  }

  async get(key: ItemKey): Promise<Item | undefined> {
    return this.#ask('get', () => this.#plain.get(key));
  }

  async query(pk: string, prefix: string): Promise<Item[]> {
    return this.#ask('query', () => this.#plain.query(pk, prefix));
  }

  async transact(writes: Write[], token?: string): Promise<TransactOutcome> {
    return this.#ask('transact', async () => {
      const outcome = await this.#plain.transact(writes, token);
      if (outcome.kind === 'committed') this.#onWrite(writes);
      return outcome;
    });
  }

  async #ask<T>(target: (typeof tableTargets)[number], work: () => Promise<T>): Promise<T> {
    const how = this.#troubles.strike('table', [target])?.how;
    if (how === 'lost' || how === 'die') {
      await work();
      const own = invocation();
      if (how === 'die' && own !== undefined) own.diesAt = own.calls + 1;
    }
    await boundary(this.#clock, how === 'slow' ? 5_000 : 0);
    if (how === 'lost' || how === 'refused') {
      throw new NodegapError('State.Unavailable', 'the state table did not answer');
    }
    return work();
  }
}
