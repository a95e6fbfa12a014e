/**
 * What tells the API server whose a token is, as on EKS: a webhook (TokenReview v1) that checks
 * presigned STS requests as aws-iam-authenticator and STS do. Whoever has an account here can be
 * locked out, and tokens can end before their time.
 *
 * Gotcha: the API server believes in a token for 10 seconds more after it was found good
 * (kube-apiserver, TokenSuccessCacheTTL).
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type AwsCredentials, type EksClusterId, signToken } from '../../../lib/aws/eks-token.ts';

const groups = ['nodegap:reader', 'nodegap:actuator'];

/** One caller: a role with an access entry, or the holder of opaque tokens. */
export class Account {
  readonly user: string;
  readonly accepted = new Set<string>();
  readonly refused = new Set<string>();
  readonly #isTrue: (token: string) => Promise<boolean>;
  readonly #ended = new Set<string>();
  #shut = false;

  constructor(user: string, isTrue: (token: string) => Promise<boolean>) {
    this.user = user;
    this.#isTrue = isTrue;
  }

  /** Ends every token that was accepted so far. */
  endTokens(): void {
    for (const token of this.accepted) this.#ended.add(token);
  }

  /** Accepts none, whatever it is. */
  shut(): void {
    this.#shut = true;
  }

  open(): void {
    this.#shut = false;
  }

  async review(token: string): Promise<'accepted' | 'refused' | 'unknown'> {
    if (!(await this.#isTrue(token))) return 'unknown';
    const verdict = this.#shut || this.#ended.has(token) ? 'refused' : 'accepted';
    this[verdict].add(token);
    return verdict;
  }
}

export class TokenWebhook {
  readonly #server: Server;
  readonly #accounts: Account[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<TokenWebhook> {
    const webhook: TokenWebhook = new TokenWebhook(
      createServer(async (request, response) => {
        const { spec } = (await json(request)) as { spec: { token: string } };
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(await webhook.#review(spec.token)));
      }),
    );
    await new Promise<void>((resolve) => webhook.#server.listen(0, '127.0.0.1', resolve));
    return webhook;
  }

  /** The file that kube-apiserver is given as `--authentication-token-webhook-config-file`. */
  configuration(): string {
    const { port } = this.#server.address() as AddressInfo;
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'webhook', cluster: { server: `http://127.0.0.1:${port}/` } }],
      users: [{ name: 'kube-apiserver', user: {} }],
      contexts: [{ name: 'webhook', context: { cluster: 'webhook', user: 'kube-apiserver' } }],
      'current-context': 'webhook',
    });
  }

  /** An access entry for the role whose credentials these are. */
  addRole(user: string, cluster: EksClusterId, credentials: AwsCredentials): Account {
    return this.#add(user, async (token) => {
      const signedAt = dateOf(token);
      return signedAt !== undefined && token === (await signToken(cluster, credentials, signedAt));
    });
  }

  /** Opaque tokens that begin so. */
  addHolder(user: string, prefix: string): Account {
    return this.#add(user, async (token) => token.startsWith(prefix));
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #add(user: string, isTrue: (token: string) => Promise<boolean>): Account {
    const account = new Account(user, isTrue);
    this.#accounts.push(account);
    return account;
  }

  async #review(token: string) {
    let status: object = { authenticated: false };
    for (const account of this.#accounts) {
      if ((await account.review(token)) !== 'accepted') continue;
      const { user: username } = account;
      status = { authenticated: true, user: { username, uid: username, groups } };
    }
    return { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status };
  }
}

/** When an EKS token was signed, as epoch ms; undefined for what is none. */
function dateOf(token: string): number | undefined {
  const [prefix, encoded = ''] = token.split('.');
  if (prefix !== 'k8s-aws-v1') return undefined;
  const url = new URL(Buffer.from(encoded, 'base64url').toString());
  const date = url.searchParams.get('X-Amz-Date') ?? '';
  const time = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date);
  if (time === null) return undefined;
  const [, year, month, day, hour, minute, second] = time.map(Number) as number[];
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hour, minute, second);
}
