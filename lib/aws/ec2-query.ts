/**
 * One call of the EC2 API, signed by hand.
 *
 * Not by @aws-sdk/client-ec2, since nothing of its schemas can be shed from a bundle: it would add
 * 550 KiB to every function that judges, and the scan has to start fast.
 */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { parseXML } from '@aws-sdk/xml-builder';
import type { Clock } from '../clock.ts';
import { messageOf, NodegapError } from '../errors.ts';
import { backoffMs, type Pacing } from '../pacing.ts';
import { type CredentialProvider, regionalHost } from './eks-token.ts';
import { signerFor } from './signer.ts';

export interface Ec2QueryOptions {
  region: string;
  credentials: CredentialProvider;
  clock: Clock;
  pacing: Pacing;
  /** Takes the place of the region's own endpoint. */
  endpoint?: string | undefined;
  /** For one try; 5 s when absent. */
  timeoutMs?: number;
}

/** Calls an action and gives the content of the answer's root element. */
export type Ec2Query = (action: string, parameters: Record<string, string>) => Promise<XmlValue>;

/** What parseXML makes of an element: its text, or its children by name, repeated ones as a list. */
export type XmlValue = string | XmlValue[] | { [tag: string]: XmlValue };

/** The child of that name, `''` when there is none. */
export function child(value: XmlValue, tag: string): XmlValue {
  return typeof value === 'object' && !Array.isArray(value) ? (value[tag] ?? '') : '';
}

/** The members of an EC2 list, which is an element with an `item` for each member. */
export function itemsOf(list: XmlValue): XmlValue[] {
  const items = child(list, 'item');
  return items === '' ? [] : [items].flat();
}

/** The text of an element, `''` for one with children. */
export function textOf(value: XmlValue): string {
  return typeof value === 'string' ? value : '';
}

const apiVersion = '2016-11-15';
const tries = 3;
const backoff = { baseMs: 200, maxMs: 2_000 };

/**
 * The errors are NodegapErrors: `Ec2.denied`, `Ec2.not-found` for an unknown instance or
 * launch template, and `Ec2.failed` for all others, after up to three tries where that may help.
 */
export function createEc2Query(options: Ec2QueryOptions): Ec2Query {
  const { region, clock, pacing } = options;
  const endpoint = new URL(options.endpoint ?? `https://${regionalHost('ec2', region)}`);
  const tryOnce = async (body: string): Promise<Answer> => {
    const signer = signerFor('ec2', region, await options.credentials());
    const signed = await signer.sign(
      {
        method: 'POST',
        protocol: endpoint.protocol,
        hostname: endpoint.hostname,
        path: '/',
        headers: {
          host: endpoint.host,
          'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
        },
        body,
      },
      { signingDate: new Date(clock.now()) },
    );
    return send(endpoint, signed.headers, body, options.timeoutMs ?? 5_000);
  };

  return async (action, parameters) => {
    const body = new URLSearchParams({ Action: action, Version: apiVersion, ...parameters });
    for (let done = 1; ; done++) {
      const answer = await tryOnce(body.toString()).catch(
        (error: unknown): Answer => ({ status: 0, body: messageOf(error) }),
      );
      if (answer.status === 200) return contentOf(action, answer.body);
      const failure = failureOf(action, answer);
      if (!failure.passing || done === tries) throw failure.error;
      await pacing.sleep(backoffMs(done, pacing.random, backoff));
    }
  };
}

interface Answer {
  /** 0 when no answer came; `body` says why. */
  status: number;
  body: string;
}

function send(
  endpoint: URL,
  headers: Record<string, string>,
  body: string,
  timeoutMs: number,
): Promise<Answer> {
  const request = endpoint.protocol === 'http:' ? httpRequest : httpsRequest;
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const sent = request(endpoint, { method: 'POST', headers, signal }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function contentOf(action: string, xml: string): XmlValue {
  try {
    const [content = ''] = Object.values(parseXML(xml) as Record<string, XmlValue>);
    return content;
  } catch (cause) {
    throw new NodegapError('Ec2.failed', `${action}: the answer is no XML`, { cause });
  }
}

const unknownCodes = new Set([
  'InvalidInstanceID.NotFound',
  'InvalidLaunchTemplateId.NotFound',
  'InvalidLaunchTemplateId.VersionNotFound',
]);

/** Codes: https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-error-codes.html */
function failureOf(
  action: string,
  { status, body }: Answer,
): { error: NodegapError; passing: boolean } {
  if (status === 0) {
    return {
      error: new NodegapError('Ec2.failed', `${action}: no answer: ${body}`),
      passing: true,
    };
  }
  const code = /<Code>([^<]*)<\/Code>/.exec(body)?.[1] ?? '';
  const message = /<Message>([^<]*)<\/Message>/.exec(body)?.[1] ?? '';
  const text = `${action}: ${status} ${code} ${message}`.trim();
  if (unknownCodes.has(code)) {
    return { error: new NodegapError('Ec2.not-found', text), passing: false };
  }
  if (code === 'UnauthorizedOperation' || code === 'AuthFailure') {
    const hint = `the role needs ec2:${action}`;
    return { error: new NodegapError('Ec2.denied', text, { hint }), passing: false };
  }
  return {
    error: new NodegapError('Ec2.failed', text),
    passing: status >= 500 || code === 'RequestLimitExceeded' || code === 'Throttling',
  };
}
