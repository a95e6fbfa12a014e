import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AuditEntry, auditPolicy, readAuditLog } from './audit.ts';
import { buildTools } from './build.ts';
import { KubeClient } from './client.ts';
import * as components from './components.ts';
import { type Observed, Registration } from './failure-logs.ts';
import { FaultInjector } from './faults.ts';
import {
  IDENTITIES,
  type Identity,
  kubeconfig,
  makeActuators,
  makeTokens,
  tokenFile,
} from './identities.ts';
import { applyKarpenterTypes } from './karpenter.ts';
import { runKubectl } from './kubectl.ts';
import { freePorts } from './ports.ts';
import { type Command, ProcessGroup } from './processes.ts';
import { kwokConfiguration } from './stages.ts';
import type { Program } from './tools.ts';
import { waitFor } from './wait.ts';

/** Its programs, by the names of their logs. */
export type Component = Exclude<Program, 'kubectl'>;

export interface ControlPlaneOptions {
  /** Also Karpenter with its kwok cloud provider. */
  karpenter?: boolean;
  /** Further flags of kube-controller-manager; they win over the harness's own. */
  controllerManagerFlags?: string[];
  /** Further flags of any component, by its name; they win over the harness's own. */
  flags?: Partial<Record<Component, string[]>>;
  /** On how many objects of a kind kwok works at one time; 4. */
  kwokParallelism?: number;
  /** Requests a second that kube-controller-manager and kube-scheduler may make each; 200. */
  clientQps?: number;
  /** How often a node reports when nothing changes; 300. */
  heartbeatSeconds?: number;
  /** Keeps the folder with logs and data after `stop()`. */
  keep?: boolean;
  /** Is told what takes time; standard error if not given. */
  log?: (line: string) => void;
}

/** An identity with the actuator's rights that nobody else uses. */
export interface OwnActuator {
  kubeconfig: string;
  /** Every request of it so far, oldest first. */
  audit(): AuditEntry[];
}

export interface ControlPlane {
  /** The URL of the API server. */
  server: string;
  /** Its certificate as a PEM file, and as base64 of the same. */
  caFile: string;
  caData: string;
  tokens: Record<Identity, string>;
  /** The path of a kubeconfig; admin's if not said otherwise. */
  kubeconfig(identity?: Identity): string;
  /** A client of the test's own; admin's if not said otherwise. */
  client(identity?: Identity): KubeClient;
  /** Runs kubectl and gives its output. It throws a `KubectlError` unless it ends with 0. */
  kubectl(args: string[], options?: { stdin?: string; identity?: Identity }): Promise<string>;
  injector: FaultInjector;
  /** Every request of that identity so far, oldest first; there is no audit of admin. */
  audit(identity: Exclude<Identity, 'admin'>): AuditEntry[];
  /** An actuator of its own for a test that runs beside others. */
  newActuator(): OwnActuator;
  /** The folder with one log for each component. */
  logs: string;
  /** The end of every component's log. */
  collectLogs(lines?: number): string;
  /** The process id of a component. */
  pid(component: Component): number;
  /** Sends a signal to a component, e.g. SIGSTOP to freeze `kube-apiserver`. */
  signal(component: string, signal: NodeJS.Signals): void;
  /** Kills components without warning, and starts them again and waits until they are ready. */
  kill(...components: Component[]): Promise<void>;
  revive(...components: Component[]): Promise<void>;
  /** Kills the API server. Everything else stays, and goes on when it is back. */
  killApiServer(): Promise<void>;
  /** Starts it again, and waits until it is ready. */
  reviveApiServer(): Promise<void>;
  /** Makes etcd forget every past revision. */
  compact(): Promise<void>;
  /** Milliseconds from the start until each component was ready. */
  readyAfter: Record<string, number>;
  /** Ends everything and removes the folder. */
  stop(): Promise<void>;
}

const READY_TIMEOUT = 60_000;
// Nothing of a cluster outlives it, so there is little to wait for; the API server takes longest.
const STOP_PATIENCE = 1_000;

/** Starts a real control plane with fake kubelets, and waits until all of it is ready. */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const log = options.log ?? ((line: string) => console.error(line));
  await buildTools(log);
  const folder = mkdtempSync(join(tmpdir(), 'nodegap-e2e-'));
  const logs = join(folder, 'logs');
  mkdirSync(logs);
  const group = new ProcessGroup(logs, options.keep ? undefined : folder);
  const observed: Observed = { logs, tails: (lines) => group.logTails(lines) };
  const registration = new Registration(observed);
  try {
    const cluster = await start(folder, logs, group, options, log);
    observed.kubectl = cluster.kubectl;
    const stop = async () => {
      await registration.beforeStop();
      await cluster.stop();
    };
    return { ...cluster, stop };
  } catch (error) {
    // Read before they end, lest the last lines be about ending.
    const tails = group.logTails(15);
    registration.startFailed();
    await group.stop(STOP_PATIENCE);
    if (!options.keep) rmSync(folder, { recursive: true, force: true });
    throw new Error(`the control plane did not start: ${error}\n${tails}`, { cause: error });
  }
}

async function start(
  folder: string,
  logs: string,
  group: ProcessGroup,
  options: ControlPlaneOptions,
  log: (line: string) => void,
): Promise<ControlPlane> {
  const startedAt = Date.now();
  const readyAfter: Record<string, number> = {};
  const files = fileNames(folder);
  const ports = await choosePorts();
  const tokens = makeTokens();
  const actuators = makeActuators();
  const server = `https://127.0.0.1:${ports.apiserver}`;
  writeFileSync(files.serviceAccountKey, serviceAccountKey(), { mode: 0o600 });
  writeFileSync(files.tokens, tokenFile(tokens, actuators), { mode: 0o600 });
  writeFileSync(files.schedulerConfig, components.schedulerConfiguration(files, options.clientQps));
  const { kwokParallelism } = options;
  const kwokParts = [
    kwokConfiguration(options.heartbeatSeconds),
    ...(kwokParallelism === undefined ? [] : [components.kwokOptions(kwokParallelism)]),
  ];
  writeFileSync(files.kwokConfig, kwokParts.join('---\n'));
  writeFileSync(files.auditPolicy, auditPolicy(actuators));

  const again = new Map<string, () => Promise<void>>();
  const launch = async (command: Command, ready: () => Promise<boolean>): Promise<void> => {
    again.set(command.name, () => launch(command, ready));
    const further = options.flags?.[command.name as Component] ?? [];
    group.start({ ...command, args: [...command.args, ...further] });
    await waitFor(ready, {
      timeout: READY_TIMEOUT,
      interval: 50,
      what: `${command.name} to be ready`,
      abortIf: () => group.assertRunning(command.name),
    });
    readyAfter[command.name] = Date.now() - startedAt;
  };

  await launch(components.etcd(ports, files), () =>
    isHealthy(`http://127.0.0.1:${ports.etcd}/health`),
  );
  // Its certificate exists only once it has started, so that is part of being ready.
  const launchApiServer = () =>
    launch(components.apiserver(ports, files), async () => {
      return existsSync(files.caFile) && isHealthy(`${server}/readyz`, readFileSync(files.caFile));
    });
  await launchApiServer();

  const ca = readFileSync(files.caFile, 'utf8');
  const caData = Buffer.from(ca).toString('base64');
  const configFile = (identity: Identity) => join(folder, `${identity}.kubeconfig`);
  for (const [identity, { user }] of Object.entries(IDENTITIES) as [Identity, { user: string }][]) {
    const config = kubeconfig(server, caData, user, tokens[identity]);
    writeFileSync(configFile(identity), config, { mode: 0o600 });
  }
  const newActuator = (): OwnActuator => {
    const { user, token } = actuators.shift() ?? {};
    if (user === undefined || token === undefined) throw new Error('no actuator is left');
    const file = join(folder, `${user}.kubeconfig`);
    writeFileSync(file, kubeconfig(server, caData, user, token), { mode: 0o600 });
    return { kubeconfig: file, audit: () => readAuditLog(files.auditLog, user) };
  };
  const clients = new Map<Identity, KubeClient>();
  const client = (identity: Identity = 'admin') => {
    const known = clients.get(identity);
    if (known !== undefined) return known;
    const made = new KubeClient({ server, ca, token: tokens[identity] });
    clients.set(identity, made);
    return made;
  };

  // Kept beside the components' logs: on standard error it would only disturb the test report.
  const injectorLog = (line: string) => {
    writeFileSync(join(logs, 'fault-injector.log'), `${line}\n`, { flag: 'a' });
  };
  const injector = new FaultInjector(client(), injectorLog);
  injector.start();

  const { controllerManager, scheduler, kwok, karpenter } = components;
  const { clientQps, controllerManagerFlags = [] } = options;
  const managerFlags = [
    ...(clientQps === undefined ? [] : components.clientQpsFlags(clientQps)),
    ...controllerManagerFlags,
  ];
  await Promise.all([
    launch(controllerManager(ports, files, managerFlags), () => {
      return isHealthy(`https://127.0.0.1:${ports.controllerManager}/healthz`, 'any');
    }),
    launch(scheduler(ports, files), () => {
      return isHealthy(`https://127.0.0.1:${ports.scheduler}/healthz`, 'any');
    }),
    launch(kwok(ports, files), () => isHealthy(`http://127.0.0.1:${ports.kwok}/healthz`)),
    options.karpenter === true
      ? applyKarpenterTypes(client()).then(() =>
          launch(karpenter(ports, files), () => {
            return isHealthy(`http://127.0.0.1:${ports.karpenterHealth}/readyz`);
          }),
        )
      : undefined,
  ]);
  log(`control plane ready after ${((Date.now() - startedAt) / 1000).toFixed(1)} s at ${server}`);

  return {
    server,
    caFile: files.caFile,
    caData,
    tokens,
    kubeconfig: (identity = 'admin') => configFile(identity),
    client,
    kubectl: (args, { stdin, identity = 'admin' } = {}) =>
      runKubectl(configFile(identity), args, stdin),
    injector,
    audit: (identity) => readAuditLog(files.auditLog, IDENTITIES[identity].user),
    newActuator,
    logs,
    collectLogs: (lines = 15) => group.logTails(lines),
    pid: (component) => group.pid(component),
    signal: (component, signal) => group.signal(component, signal),
    kill: async (...names) => void (await Promise.all(names.map((name) => group.kill(name)))),
    revive: async (...names) => void (await Promise.all(names.map((name) => again.get(name)?.()))),
    killApiServer: () => group.kill('kube-apiserver'),
    reviveApiServer: launchApiServer,
    compact: () => compact(`http://127.0.0.1:${ports.etcd}`),
    readyAfter,
    stop: async () => {
      await injector.stop();
      for (const used of clients.values()) used.close();
      await group.stop(STOP_PATIENCE);
      if (!options.keep) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Through etcd's JSON gateway (etcd api/etcdserverpb rpc.proto: Range, Compact). */
async function compact(etcd: string): Promise<void> {
  const ask = async (path: string, body: object): Promise<{ header?: { revision?: string } }> => {
    const answer = await fetch(`${etcd}/v3/kv/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`etcd ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { header?: { revision?: string } };
  };
  const { header } = await ask('range', { key: Buffer.from('/').toString('base64') });
  await ask('compaction', { revision: header?.revision, physical: true });
}

function fileNames(folder: string): components.Files {
  const certificates = join(folder, 'certificates');
  return {
    etcdData: join(folder, 'etcd'),
    certificates,
    caFile: join(certificates, 'apiserver.crt'),
    tokens: join(folder, 'tokens.csv'),
    serviceAccountKey: join(folder, 'service-account.key'),
    adminKubeconfig: join(folder, 'admin.kubeconfig'),
    schedulerConfig: join(folder, 'scheduler.yaml'),
    kwokConfig: join(folder, 'kwok.yaml'),
    auditPolicy: join(folder, 'audit-policy.yaml'),
    auditLog: join(folder, 'logs', 'audit.log'),
  };
}

async function choosePorts(): Promise<components.Ports> {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = await freePorts(8);
  return {
    etcd: a,
    etcdPeer: b,
    apiserver: c,
    controllerManager: d,
    scheduler: e,
    kwok: f,
    karpenterHealth: g,
    karpenterMetrics: h,
  };
}

function serviceAccountKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return privateKey.export({ type: 'sec1', format: 'pem' }) as string;
}

/**
 * Whether a health endpoint answers 200. `any` takes every certificate: the controllers make
 * themselves one in memory, which nobody can know.
 */
function isHealthy(url: string, ca?: Buffer | 'any'): Promise<boolean> {
  const options = {
    timeout: 2_000,
    // No keep-alive: the default agent would hold the connection of a component that has gone.
    agent: false,
    ...(ca === 'any' ? { rejectUnauthorized: false } : {}),
    ...(Buffer.isBuffer(ca) ? { ca } : {}),
  } as const;
  return new Promise((resolve, reject) => {
    const get = url.startsWith('https:') ? httpsGet : httpGet;
    const call = get(url, options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.on('timeout', () => call.destroy(new Error(`${url} does not answer`)));
    call.on('error', reject);
  });
}
