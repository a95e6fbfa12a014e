/**
 * EKS bearer tokens: a presigned STS GetCallerIdentity URL, made without any network call.
 *
 * Gotchas (kubernetes-sigs/aws-iam-authenticator, pkg/token): the verifier takes only GET on path
 * `/` of a regional STS host, with `x-k8s-aws-id` among the signed headers and no query parameter
 * beyond those of the signature. It accepts a token until 15 minutes after X-Amz-Date, whatever
 * X-Amz-Expires says, but that parameter must be there. The cluster's name is signed, so no two
 * clusters share a token.
 */
import type { Clock } from '../clock.ts';
import { signerFor } from './signer.ts';

/** An EKS cluster as the configuration names it. */
export interface EksClusterId {
  name: string;
  region: string;
}

export interface AwsCredentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
  expiration?: Date | undefined;
}

/** Gives credentials that are valid now; caches and refreshes them itself, as the SDK's do. */
export type CredentialProvider = () => Promise<AwsCredentials>;

export interface EksTokens {
  /** A token that is valid for at least four more minutes. */
  tokenFor(cluster: EksClusterId): Promise<string>;
  /** Forgets the token, for example after a 401. */
  drop(cluster: EksClusterId): void;
}

const prefix = 'k8s-aws-v1.';
const presignSeconds = 60;
const maxAgeMs = 10 * 60_000;

interface CachedToken {
  token: string;
  accessKeyId: string;
  sessionToken: string | undefined;
  validUntil: number;
}

/**
 * Tokens by cluster and credentials, each kept for ten minutes at most and not beyond the
 * credentials' own end.
 */
export function createEksTokens(credentials: CredentialProvider, clock: Clock): EksTokens {
  const cache = new Map<string, CachedToken>();
  return {
    async tokenFor(cluster) {
      const key = keyOf(cluster);
      const current = await credentials();
      const now = clock.now();
      const cached = cache.get(key);
      if (
        cached !== undefined &&
        now < cached.validUntil &&
        cached.accessKeyId === current.accessKeyId &&
        cached.sessionToken === current.sessionToken
      ) {
        return cached.token;
      }
      const token = await signToken(cluster, current, now);
      cache.set(key, {
        token,
        accessKeyId: current.accessKeyId,
        sessionToken: current.sessionToken,
        validUntil: Math.min(now + maxAgeMs, current.expiration?.getTime() ?? Infinity),
      });
      return token;
    },
    drop(cluster) {
      cache.delete(keyOf(cluster));
    },
  };
}

/** Signs a token as of `epochMs`. */
export async function signToken(
  cluster: EksClusterId,
  credentials: AwsCredentials,
  epochMs: number,
): Promise<string> {
  const signer = signerFor('sts', cluster.region, credentials);
  const host = stsHost(cluster.region);
  const signed = await signer.presign(
    {
      method: 'GET',
      protocol: 'https:',
      hostname: host,
      path: '/',
      query: { Action: 'GetCallerIdentity', Version: '2011-06-15' },
      headers: { host, 'x-k8s-aws-id': cluster.name },
    },
    { expiresIn: presignSeconds, signingDate: new Date(epochMs) },
  );
  const query = Object.entries(signed.query ?? {})
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .join('&');
  return prefix + Buffer.from(`https://${host}/?${query}`).toString('base64url');
}

/** DNS suffixes of the partitions whose regions begin so; all other regions use amazonaws.com. */
const partitionSuffixes: [regionPrefix: string, suffix: string][] = [
  ['cn-', 'amazonaws.com.cn'],
  ['us-iso-', 'c2s.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
  ['eusc-', 'amazonaws.eu'],
];

/** The regional STS host. GovCloud regions have the usual suffix. */
export function stsHost(region: string): string {
  return regionalHost('sts', region);
}

/** The host of a service in a region. */
export function regionalHost(service: string, region: string): string {
  const partition = partitionSuffixes.find(([regionPrefix]) => region.startsWith(regionPrefix));
  return `${service}.${region}.${partition?.[1] ?? 'amazonaws.com'}`;
}

function keyOf(cluster: EksClusterId): string {
  return `${cluster.region}/${cluster.name}`;
}
