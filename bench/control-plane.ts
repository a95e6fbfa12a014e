/** etcd and kube-apiserver alone: controllers would collect pods whose owners do not exist. */
import { generateKeyPairSync } from 'node:crypto';
import {
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { buildTools } from '../test/e2e/harness/build.ts';
import { KubeClient } from '../test/e2e/harness/client.ts';
import * as components from '../test/e2e/harness/components.ts';
import {
  IDENTITIES,
  type Identity,
  kubeconfig,
  makeTokens,
  tokenFile,
} from '../test/e2e/harness/identities.ts';
import { freePorts } from '../test/e2e/harness/ports.ts';
import { ProcessGroup } from '../test/e2e/harness/processes.ts';
import { waitFor } from '../test/e2e/harness/wait.ts';

/** All that another process needs to know to measure this API server. */
export interface ServerFacts {
  server: string;
  caFile: string;
  /** By identity: the path of a kubeconfig, and the token in it. */
  kubeconfigs: Record<Identity, string>;
  tokens: Record<Identity, string>;
  apiserverPid: number;
  etcdPid: number;
}

export interface ControlPlane extends ServerFacts {
  /** Drops old revisions from etcd and shrinks its file. */
  compact(): Promise<void>;
  /** Ends both and removes the folder. The etcd data may be kept by moving it elsewhere. */
  stop(keepDataAt?: string): Promise<void>;
}

// etcd needs less to write its data out; the API server would take longest and has nothing to keep.
const stopPatienceMs = 5_000;
const readyTimeoutMs = 120_000;

/** Starts both in a new folder in `within`, on a copy of etcd data if there is one. */
export async function startControlPlane(
  within: string,
  copyOf: string | undefined,
  log: (line: string) => void,
): Promise<ControlPlane> {
  await buildTools(log);
  const folder = mkdtempSync(join(within, '.run-'));
  const logs = join(folder, 'logs');
  mkdirSync(logs);
  const etcdData = join(folder, 'etcd');
  const group = new ProcessGroup(logs, folder);
  const stop = async (keepDataAt?: string) => {
    await group.stop(stopPatienceMs);
    if (keepDataAt !== undefined) renameUnlessThere(etcdData, keepDataAt);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    if (copyOf !== undefined) {
      // Shares blocks with the original where the file system can.
      cpSync(copyOf, etcdData, { recursive: true, mode: constants.COPYFILE_FICLONE });
    }
    return { ...(await start(folder, etcdData, group)), stop };
  } catch (error) {
    const tails = group.logTails(15);
    await stop();
    throw new Error(`the control plane did not start: ${error}\n${tails}`, { cause: error });
  }
}

/** Of two runs that load the same data at once, the second drops its own. */
function renameUnlessThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

async function start(folder: string, etcdData: string, group: ProcessGroup) {
  const certificates = join(folder, 'certificates');
  const files: components.Files = {
    etcdData,
    certificates,
    caFile: join(certificates, 'apiserver.crt'),
    tokens: join(folder, 'tokens.csv'),
    serviceAccountKey: join(folder, 'service-account.key'),
    adminKubeconfig: join(folder, 'admin.kubeconfig'),
    schedulerConfig: '',
    kwokConfig: '',
    auditPolicy: '',
    auditLog: '',
  };
  const [etcd = 0, etcdPeer = 0, apiserver = 0] = await freePorts(3);
  const unused = {
    controllerManager: 0,
    scheduler: 0,
    kwok: 0,
    karpenterHealth: 0,
    karpenterMetrics: 0,
  };
  const ports: components.Ports = { etcd, etcdPeer, apiserver, ...unused };
  const tokens = makeTokens();
  const server = `https://127.0.0.1:${apiserver}`;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ type: 'sec1', format: 'pem' });
  writeFileSync(files.serviceAccountKey, key, { mode: 0o600 });
  writeFileSync(files.tokens, tokenFile(tokens, []), { mode: 0o600 });

  const etcdCommand = components.etcd(ports, files);
  // Many writes at once outgrow the 2 GiB at which etcd becomes read-only.
  const quota = `--quota-backend-bytes=${8 * 1024 ** 3}`;
  group.start({ ...etcdCommand, args: [...etcdCommand.args, quota] });
  const etcdUrl = `http://127.0.0.1:${ports.etcd}`;
  await waitFor(() => etcdCall(etcdUrl, '/v3/maintenance/status', {}), {
    timeout: readyTimeoutMs,
    what: 'etcd to be ready',
    abortIf: () => group.assertRunning('etcd'),
  });
  const command = components.apiserver(ports, files);
  // An audit of every request would be measured with the requests.
  const args = command.args.filter((arg) => !arg.startsWith('--audit-'));
  group.start({ ...command, args });
  const ready = async () => {
    if (!existsSync(files.caFile)) return false;
    const client = new KubeClient({
      server,
      ca: readFileSync(files.caFile, 'utf8'),
      token: tokens.admin,
    });
    try {
      const answer = await client.stream('/readyz');
      answer.resume();
      return true;
    } finally {
      client.close();
    }
  };
  await waitFor(ready, {
    timeout: readyTimeoutMs,
    what: 'kube-apiserver to be ready',
    abortIf: () => group.assertRunning('kube-apiserver'),
  });

  const caData = readFileSync(files.caFile).toString('base64');
  const kubeconfigs = {} as Record<Identity, string>;
  for (const identity of ['admin', 'reader', 'actuator'] as const) {
    kubeconfigs[identity] = join(folder, `${identity}.kubeconfig`);
    const config = kubeconfig(server, caData, IDENTITIES[identity].user, tokens[identity]);
    writeFileSync(kubeconfigs[identity], config, { mode: 0o600 });
  }
  return {
    server,
    caFile: files.caFile,
    kubeconfigs,
    tokens,
    apiserverPid: group.pid('kube-apiserver'),
    etcdPid: group.pid('etcd'),
    async compact() {
      const { header } = await etcdCall(etcdUrl, '/v3/maintenance/status', {});
      await etcdCall(etcdUrl, '/v3/kv/compaction', { revision: header.revision, physical: true });
      await etcdCall(etcdUrl, '/v3/maintenance/defragment', {});
    },
  };
}

/** One call of etcd's JSON gateway. */
function etcdCall(
  url: string,
  path: string,
  body: unknown,
): Promise<{ header: { revision: string } }> {
  return new Promise((resolve, reject) => {
    const call = request(new URL(path, url), { method: 'POST', agent: false }, (response) => {
      text(response).then((answer) => {
        if (response.statusCode === 200) resolve(JSON.parse(answer));
        else reject(new Error(`etcd answered ${path} with ${response.statusCode}: ${answer}`));
      }, reject);
    });
    call.on('error', reject);
    call.end(JSON.stringify(body));
  });
}
