/** The cluster of the bench: made once for each size, kept as etcd data, started from a copy. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { KubeClient } from '../test/e2e/harness/client.ts';
import { cacheRoot, TOOLS, toolVersion } from '../test/e2e/harness/tools.ts';
import { type ServerFacts, startControlPlane } from './control-plane.ts';
import { freshen, keepAlive } from './freshen.ts';
import { dataVersion, loadCluster } from './load.ts';
import { type Plan, planOf } from './plan.ts';
import { BulkWriter } from './writes.ts';

/** A running cluster. As plain data (`stop` aside) it can be handed to another process. */
export interface BenchCluster extends ServerFacts {
  nodes: number;
  stop(): Promise<void>;
}

/** Starts the cluster of that many nodes. Loads it first when no data of that size is kept. */
export async function startCluster(
  nodes: number,
  log: (line: string) => void,
): Promise<BenchCluster> {
  const plan = planOf(nodes);
  const cache = cacheFolder(nodes);
  mkdirSync(dirname(cache), { recursive: true });
  if (!existsSync(cache)) await makeData(plan, cache, log);
  const plane = await startControlPlane(dirname(cache), cache, log);
  const { client, writer } = connections(plane);
  try {
    log(`API server ready at ${plane.server}; writing heartbeats and young nodes`);
    await freshen(client, writer, plan);
  } catch (error) {
    await plane.stop();
    throw error;
  }
  const ending = new AbortController();
  const beats = keepAlive(writer, plan, ending.signal);
  // Reported when the cluster is stopped: an ended API server ends the beats before that.
  beats.catch(() => undefined);
  const { server, caFile, kubeconfigs, tokens, apiserverPid, etcdPid } = plane;
  return {
    nodes,
    server,
    caFile,
    kubeconfigs,
    tokens,
    apiserverPid,
    etcdPid,
    async stop() {
      ending.abort();
      try {
        await beats;
      } finally {
        client.close();
        writer.close();
        await plane.stop();
      }
    },
  };
}

/** A client and a bulk writer, both as admin. */
export function connections(facts: ServerFacts): { client: KubeClient; writer: BulkWriter } {
  const ca = readFileSync(facts.caFile, 'utf8');
  const options = { server: facts.server, ca, token: facts.tokens.admin };
  return { client: new KubeClient(options), writer: new BulkWriter(options) };
}

/** Where the etcd data of that size is kept, beside the built tools. */
function cacheFolder(nodes: number): string {
  const kubernetes = TOOLS.find(({ name }) => name === 'kubernetes');
  if (kubernetes === undefined) throw new Error('no tool is named kubernetes');
  const name = `${toolVersion(kubernetes)}-${nodes}-data${dataVersion}`;
  return join(dirname(cacheRoot(process.env)), 'bench', name);
}

async function makeData(plan: Plan, cache: string, log: (line: string) => void): Promise<void> {
  const started = Date.now();
  log(`loading ${plan.size} nodes (once, then kept in the cache)`);
  const plane = await startControlPlane(dirname(cache), undefined, log);
  const { client, writer } = connections(plane);
  let whole = false;
  try {
    await loadCluster(client, writer, plan, log);
    await plane.compact();
    whole = true;
  } finally {
    client.close();
    writer.close();
    await plane.stop(whole ? cache : undefined);
  }
  const megabytes = Math.round(sizeOf(cache) / 1e6);
  const seconds = Math.round((Date.now() - started) / 1000);
  log(`loaded ${plan.size} nodes in ${seconds} s: ${megabytes} MB`);
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => statSync(join(folder, file)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}
