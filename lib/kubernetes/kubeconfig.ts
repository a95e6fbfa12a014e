/**
 * Opens the cluster of a kubeconfig context. client-node reads the file and knows how users prove
 * who they are (tokens, certificates, exec plugins, OIDC); the connection is the project's own.
 *
 * Gotchas
 * - client-node merges the files of KUBECONFIG but fails on a name that two of them hold, and on a
 *   file that is missing; kubectl takes the first and skips the other, and so does this.
 * - Without any kubeconfig client-node falls back to http://localhost:8080; this says so instead.
 * - An exec plugin's answer stays cached in the KubeConfig with no way to drop it, so a 401 leads
 *   to a new one read from the same files.
 */
import { existsSync } from 'node:fs';
import type { Agent } from 'node:http';
import type { RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node';
import { KubernetesError, messageOf, UsageError } from '../errors.ts';
import type { ClusterReader } from '../ports.ts';
import { createReader } from './reader.ts';
import { createTransport, type StreamingTransport, type TlsOptions } from './transport.ts';

export interface KubeconfigOptions {
  /** The current context when absent. */
  context?: string;
  /** In place of KUBECONFIG and ~/.kube/config. */
  kubeconfigPath?: string;
  env?: NodeJS.ProcessEnv;
  userAgent?: string;
}

export interface KubeconfigConnection {
  /** The name of the context. */
  name: string;
  transport: StreamingTransport;
  reader: ClusterReader;
}

const serviceAccount = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * Opens the cluster of a context. No request is sent to the cluster, but an exec plugin may run.
 * @throws UsageError when there is no kubeconfig, it cannot be read, or has no such context.
 * @throws KubernetesError (unauthorised) when the user's credentials cannot be had.
 */
export async function connectFromKubeconfig(
  options: KubeconfigOptions = {},
): Promise<KubeconfigConnection> {
  const files = kubeconfigFiles(options);
  let chosen = chooseContext(files, options.context);
  const { cluster } = chosen;
  const secure = cluster.server.startsWith('https:');
  if (!secure) refuseHttpBeyondLoopback(cluster, files);
  const credentials = await credentialsOf(chosen);
  const transport = createTransport({
    server: cluster.server,
    tls: tlsOf(credentials),
    ...(cluster.proxyUrl ? proxyAgent(credentials) : {}),
    ...(options.userAgent === undefined ? {} : { userAgent: options.userAgent }),
    async authorize(headers) {
      Object.assign(headers, headersOf(await credentialsOf(chosen)));
    },
    invalidate() {
      chosen = chooseContext(files, options.context);
    },
  });
  return {
    name: chosen.name,
    transport,
    reader: createReader(transport),
  };
}

/** The names of the contexts, and the current one. @throws UsageError as `connectFromKubeconfig`. */
export function listContexts(options: KubeconfigOptions = {}): {
  contexts: string[];
  current: string | undefined;
} {
  const config = loadFiles(kubeconfigFiles(options));
  return {
    contexts: config.getContexts().map(({ name }) => name),
    current: config.getCurrentContext() || undefined,
  };
}

interface ChosenContext {
  name: string;
  cluster: Cluster;
  config: KubeConfig;
}

/** The files to read; empty when this runs in a pod and its service account is meant. */
function kubeconfigFiles(options: KubeconfigOptions): string[] {
  const env = options.env ?? process.env;
  if (options.kubeconfigPath !== undefined) {
    if (existsSync(options.kubeconfigPath)) return [options.kubeconfigPath];
    throw new UsageError(`the kubeconfig ${options.kubeconfigPath} does not exist`);
  }
  if (env.KUBECONFIG) {
    const named = env.KUBECONFIG.split(delimiter).filter((file) => file !== '');
    const there = named.filter((file) => existsSync(file));
    if (there.length > 0) return there;
    throw new UsageError(`KUBECONFIG names ${named.join(', ')}, which does not exist`);
  }
  const usual = join(env.HOME ?? homedir(), '.kube', 'config');
  if (existsSync(usual)) return [usual];
  if (existsSync(serviceAccount)) return [];
  throw new UsageError(
    `there is no kubeconfig: ${usual} does not exist and KUBECONFIG is not set`,
    {
      hint: 'for EKS: aws eks update-kubeconfig --name CLUSTER; or scan a dump with --file',
    },
  );
}

function loadFiles(files: string[]): KubeConfig {
  const merged = new KubeConfig();
  if (files.length === 0) {
    merged.loadFromCluster();
    return merged;
  }
  for (const file of files) {
    const config = new KubeConfig();
    try {
      // An entry that is broken but not asked for does no harm, as with kubectl.
      config.loadFromFile(file, { onInvalidEntry: 'filter' });
    } catch (cause) {
      const why = cause instanceof TypeError ? 'it is no kubeconfig' : firstLine(cause);
      throw new UsageError(`the kubeconfig ${file} cannot be read: ${why}`, { cause });
    }
    for (const cluster of config.getClusters()) {
      if (merged.getCluster(cluster.name) === null) merged.addCluster(cluster);
    }
    for (const user of config.getUsers()) {
      if (merged.getUser(user.name) === null) merged.addUser(user);
    }
    for (const context of config.getContexts()) {
      if (merged.getContextObject(context.name) === null) merged.addContext(context);
    }
    if (!merged.getCurrentContext() && config.getCurrentContext()) {
      merged.setCurrentContext(config.getCurrentContext());
    }
  }
  return merged;
}

function chooseContext(files: string[], wanted: string | undefined): ChosenContext {
  const config = loadFiles(files);
  const where = files.length === 0 ? 'the service account' : files.join(', ');
  const contexts = config.getContexts().map((context) => context.name);
  const name = wanted ?? config.getCurrentContext();
  const known = contexts.length === 0 ? 'it has no contexts' : `contexts: ${contexts.join(', ')}`;
  if (!name) {
    throw new UsageError(`${where} has no current context`, {
      hint: `choose one with --context (${known})`,
    });
  }
  const context = config.getContextObject(name);
  if (context === null) {
    throw new UsageError(`there is no context "${name}" in ${where}`, { hint: known });
  }
  const cluster = config.getCluster(context.cluster);
  if (cluster === null) {
    throw new UsageError(
      `context "${name}" names the cluster "${context.cluster}", which ${where} does not hold`,
    );
  }
  const user = context.user ? config.getUser(context.user) : { name: 'anonymous' };
  if (user === null) {
    throw new UsageError(
      `context "${name}" names the user "${context.user}", which ${where} does not hold`,
    );
  }
  return { name, cluster, config: configOf(cluster, user) };
}

/** A KubeConfig of just this cluster and user. */
function configOf(cluster: Cluster, user: User): KubeConfig {
  const config = new KubeConfig();
  const http = cluster.server.startsWith('http:');
  // client-node refuses http unless verification is off; over http there is nothing to verify.
  config.loadFromClusterAndUser(http ? { ...cluster, skipTLSVerify: true } : cluster, user);
  return config;
}

async function credentialsOf({ name, config }: ChosenContext): Promise<RequestOptions> {
  const options: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(options);
    return options;
  } catch (cause) {
    throw new KubernetesError(
      'unauthorised',
      `the credentials of context "${name}" cannot be had: ${firstLine(cause)}`,
      {
        cause,
        hint: 'check the user of this context: its files, or that its exec plugin runs on its own',
      },
    );
  }
}

/** client-node's agent for the cluster's proxy-url, made to keep its connections. */
function proxyAgent({ agent }: RequestOptions): { agent?: Agent } {
  return typeof agent === 'object' ? { agent: Object.assign(agent, { keepAlive: true }) } : {};
}

function tlsOf(options: RequestOptions): TlsOptions {
  const { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername } = options;
  const given = { ca, cert, key, pfx, passphrase, rejectUnauthorized, servername };
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as TlsOptions;
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers ?? {})) {
    // A token read from a file often ends in a newline, which no header may hold.
    if (value !== undefined) headers[name.toLowerCase()] = String(value).trim();
  }
  if (options.auth) {
    headers.authorization = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  }
  return headers;
}

/** Credentials must not cross a network in the clear. */
function refuseHttpBeyondLoopback(cluster: Cluster, files: string[]): void {
  const host = URL.canParse(cluster.server) ? new URL(cluster.server).hostname : '';
  if (host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)) return;
  throw new UsageError(
    `the cluster "${cluster.name}" in ${files.join(', ')} has the server "${cluster.server}": https is needed beyond this machine`,
  );
}

function firstLine(error: unknown): string {
  return messageOf(error).trim().split('\n', 1)[0] ?? '';
}
