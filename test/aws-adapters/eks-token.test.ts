import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  type AwsCredentials,
  createEksTokens,
  signToken,
  stsHost,
} from '../../lib/aws/eks-token.ts';

const credentials: AwsCredentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const session: AwsCredentials = { ...credentials, sessionToken: 'a/long+token==' };
const cluster = { name: 'prod', region: 'eu-central-1' };
const at = Date.parse('2026-03-01T10:00:00.500Z');
const minute = 60_000;

const urlOf = (token: string): string =>
  Buffer.from(token.slice('k8s-aws-v1.'.length), 'base64url').toString('utf8');

/** The parameters that aws-iam-authenticator lets through (pkg/token, parameterWhitelist). */
const allowed = [
  'Action',
  'Version',
  'X-Amz-Algorithm',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Expires',
  'X-Amz-Security-Token',
  'X-Amz-Signature',
  'X-Amz-SignedHeaders',
];

/** Signature Version 4 of a presigned GET, worked out here from the URL alone. */
function expectedSignature(url: URL, secret: string, clusterName: string): string {
  const strict = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  const query = [...url.searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${strict(name)}=${strict(value)}`)
    .sort()
    .join('&');
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
  const canonical = [
    'GET',
    '/',
    query,
    `host:${url.host}`,
    `x-k8s-aws-id:${clusterName}`,
    '',
    'host;x-k8s-aws-id',
    sha256(''),
  ].join('\n');
  const scope = (url.searchParams.get('X-Amz-Credential') ?? '').split('/').slice(1);
  const hmac = (key: string | Buffer, text: string) =>
    createHmac('sha256', key).update(text).digest();
  const signingKey = scope.reduce<string | Buffer>(hmac, `AWS4${secret}`);
  const toSign = [
    'AWS4-HMAC-SHA256',
    url.searchParams.get('X-Amz-Date'),
    scope.join('/'),
    sha256(canonical),
  ].join('\n');
  return hmac(signingKey, toSign).toString('hex');
}

describe('signToken', () => {
  it('is k8s-aws-v1. and base64url without padding', async () => {
    const token = await signToken(cluster, session, at);
    expect(token).toMatch(/^k8s-aws-v1\.[A-Za-z0-9_-]+$/);
  });

  it('presigns GetCallerIdentity on / of the regional host, signed with the cluster name', async () => {
    const url = new URL(urlOf(await signToken(cluster, credentials, at)));
    expect(`${url.origin}${url.pathname}`).toBe('https://sts.eu-central-1.amazonaws.com/');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      Action: 'GetCallerIdentity',
      Version: '2011-06-15',
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': 'AKIDEXAMPLE/20260301/eu-central-1/sts/aws4_request',
      'X-Amz-Date': '20260301T100000Z',
      'X-Amz-Expires': '60',
      'X-Amz-SignedHeaders': 'host;x-k8s-aws-id',
      'X-Amz-Signature': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it.each([
    ['long-lived', credentials],
    ['session', session],
  ])('carries the right signature and no other parameter, for %s credentials', async (_t, who) => {
    const url = new URL(urlOf(await signToken(cluster, who, at)));
    expect(url.searchParams.get('X-Amz-Signature')).toBe(
      expectedSignature(url, who.secretAccessKey, cluster.name),
    );
    expect([...url.searchParams.keys()].filter((name) => !allowed.includes(name))).toEqual([]);
    expect(url.searchParams.get('X-Amz-Security-Token')).toBe(who.sessionToken ?? null);
  });

  it('differs between clusters, whose name is signed', async () => {
    const other = await signToken({ ...cluster, name: 'dev' }, credentials, at);
    expect(other).not.toBe(await signToken(cluster, credentials, at));
    expect(expectedSignature(new URL(urlOf(other)), credentials.secretAccessKey, 'dev')).toBe(
      new URL(urlOf(other)).searchParams.get('X-Amz-Signature'),
    );
  });
});

describe('stsHost', () => {
  it.each([
    ['us-east-1', 'sts.us-east-1.amazonaws.com'],
    ['us-gov-west-1', 'sts.us-gov-west-1.amazonaws.com'],
    ['cn-north-1', 'sts.cn-north-1.amazonaws.com.cn'],
    ['us-iso-east-1', 'sts.us-iso-east-1.c2s.ic.gov'],
    ['us-isob-east-1', 'sts.us-isob-east-1.sc2s.sgov.gov'],
    ['us-isof-south-1', 'sts.us-isof-south-1.csp.hci.ic.gov'],
    ['eu-isoe-west-1', 'sts.eu-isoe-west-1.cloud.adc-e.uk'],
    ['eusc-de-east-1', 'sts.eusc-de-east-1.amazonaws.eu'],
  ])('of %s is %s', (region, host) => {
    expect(stsHost(region)).toBe(host);
  });
});

describe('createEksTokens', () => {
  function tokensWith(provider: () => AwsCredentials) {
    const clock = { time: at, now: () => clock.time };
    return { clock, tokens: createEksTokens(async () => provider(), clock) };
  }

  it('keeps a token for ten minutes and not longer', async () => {
    const { clock, tokens } = tokensWith(() => credentials);
    const first = await tokens.tokenFor(cluster);
    clock.time = at + 10 * minute - 1;
    expect(await tokens.tokenFor(cluster)).toBe(first);
    clock.time = at + 10 * minute;
    expect(await tokens.tokenFor(cluster)).not.toBe(first);
  });

  it('keeps one for each cluster and region', async () => {
    const { tokens } = tokensWith(() => credentials);
    const first = await tokens.tokenFor(cluster);
    expect(await tokens.tokenFor({ ...cluster, name: 'dev' })).not.toBe(first);
    expect(await tokens.tokenFor({ ...cluster, region: 'us-east-1' })).not.toBe(first);
    expect(await tokens.tokenFor(cluster)).toBe(first);
  });

  it('signs anew when the credentials have changed', async () => {
    let current = session;
    const { tokens } = tokensWith(() => current);
    const first = await tokens.tokenFor(cluster);
    current = { ...session, sessionToken: 'other' };
    expect(await tokens.tokenFor(cluster)).not.toBe(first);
  });

  it('does not keep a token beyond the end of its credentials', async () => {
    const expiration = new Date(at + 3 * minute);
    const { clock, tokens } = tokensWith(() => ({ ...session, expiration }));
    const first = await tokens.tokenFor(cluster);
    clock.time = at + 3 * minute;
    expect(await tokens.tokenFor(cluster)).not.toBe(first);
  });

  it('forgets a token that is dropped', async () => {
    const { clock, tokens } = tokensWith(() => credentials);
    const first = await tokens.tokenFor(cluster);
    clock.time += 1_000;
    tokens.drop(cluster);
    expect(await tokens.tokenFor(cluster)).not.toBe(first);
  });
});
