/**
 * The active zonal shifts and autoshifts of an account and region, by the ARC zonal shift API.
 *
 * Signed by hand: two GETs of a JSON API need no client, and there is none in every registry.
 * https://docs.aws.amazon.com/arc-zonal-shift/latest/api/API_ListZonalShifts.html
 * https://docs.aws.amazon.com/arc-zonal-shift/latest/api/API_ListAutoshifts.html
 */
import type { ZonalShift } from '../aws-work.ts';
import type { Clock } from '../clock.ts';
import { messageOf, NodegapError } from '../errors.ts';
import { createTransport, type Transport } from '../kubernetes/transport.ts';
import * as z from '../zod.ts';
import { type CredentialProvider, regionalHost } from './eks-token.ts';
import { signerFor } from './signer.ts';

export interface ZonalShiftOptions {
  region: string;
  credentials: CredentialProvider;
  clock: Clock;
  /** Takes the place of the region's own endpoint. */
  endpoint?: string | undefined;
}

/** Times are epoch seconds in this protocol. */
const shiftSchema = z.object({
  awayFrom: z.string(),
  resourceIdentifier: z.string(),
  expiryTime: z.optional(z.number()),
  status: z.string(),
  shiftType: z.optional(z.string()),
  /** Only practice runs have one, `PENDING` while they last. */
  practiceRunOutcome: z.optional(z.string()),
});
const autoshiftSchema = z.object({ awayFrom: z.string(), status: z.string() });

const timeouts = { connectMs: 2_000, requestMs: 5_000 };
const mostPages = 20;

/**
 * Asks for all of them.
 * @throws NodegapError `Arc.denied` or `Arc.failed`.
 */
export function createZonalShifts(options: ZonalShiftOptions): () => Promise<ZonalShift[]> {
  const server = options.endpoint ?? `https://${regionalHost('arc-zonal-shift', options.region)}`;
  const transport = createTransport({ server, timeouts });
  return async () => {
    const [shifts, autoshifts] = await Promise.all([
      listed(transport, options, '/zonalshifts', shiftSchema),
      listed(transport, options, '/autoshifts', autoshiftSchema),
    ]);
    return [
      ...shifts.filter(isActive).map(
        (shift): ZonalShift => ({
          kind: shift.practiceRunOutcome === undefined ? 'zonal-shift' : 'practice-run',
          awayFrom: shift.awayFrom,
          resource: shift.resourceIdentifier,
          ...(shift.expiryTime === undefined ? {} : { until: shift.expiryTime * 1000 }),
        }),
      ),
      ...autoshifts
        .filter(isActive)
        .map(({ awayFrom }): ZonalShift => ({ kind: 'autoshift', awayFrom })),
    ];
  };
}

function isActive({ status }: { status: string }): boolean {
  return status === 'ACTIVE';
}

async function listed<T>(
  transport: Transport,
  options: ZonalShiftOptions,
  path: string,
  schema: z.ZodMiniType<T>,
): Promise<T[]> {
  const page = z.object({ items: z.array(schema), nextToken: z.optional(z.nullable(z.string())) });
  const items: T[] = [];
  let nextToken: string | undefined;
  for (let pages = 0; pages < mostPages; pages++) {
    const query = {
      maxResults: '100',
      status: 'ACTIVE',
      ...(nextToken === undefined ? {} : { nextToken }),
    };
    const body = await get(transport, options, path, query);
    const parsed = page.safeParse(body);
    if (!parsed.success) throw failed(path, 'the answer is not what this operation promises');
    items.push(...parsed.data.items);
    nextToken = parsed.data.nextToken ?? undefined;
    if (nextToken === undefined) return items;
  }
  throw failed(path, `more than ${mostPages} pages`);
}

async function get(
  transport: Transport,
  { region, credentials, clock }: ZonalShiftOptions,
  path: string,
  query: Record<string, string>,
): Promise<unknown> {
  const signer = signerFor('arc-zonal-shift', region, await credentials());
  const { protocol, hostname, host } = new URL(transport.server);
  const signed = await signer.sign(
    { method: 'GET', protocol, hostname, path, query, headers: { host } },
    { signingDate: new Date(clock.now()) },
  );
  const answer = await transport
    .request({ method: 'GET', path, query, headers: signed.headers })
    .catch((cause: unknown) => {
      throw failed(path, messageOf(cause), cause);
    });
  const body = answer.body.toString();
  if (answer.status === 403) {
    throw new NodegapError(
      'Arc.denied',
      `not allowed to GET ${path} of ARC: ${body.slice(0, 200)}`,
      {
        hint: 'the role needs arc-zonal-shift:ListZonalShifts and ListAutoshifts',
      },
    );
  }
  if (answer.status !== 200) throw failed(path, `${answer.status} ${body.slice(0, 200)}`);
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw failed(path, 'the answer is no JSON', cause);
  }
}

function failed(path: string, why: string, cause?: unknown): NodegapError {
  return new NodegapError('Arc.failed', `GET ${path} of ARC zonal shift: ${why}`, {
    ...(cause === undefined ? {} : { cause }),
    hint: 'breaker.zonalShifts: ignore where its API cannot be reached',
  });
}
