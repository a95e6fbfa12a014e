/** What reading costs the API server: its CPU time, and what its own metrics count. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { KubeClient } from '../test/e2e/harness/client.ts';
import type { ServerFacts } from './control-plane.ts';

export interface ServerCost {
  apiserverCpuMs: number;
  etcdCpuMs: number;
  /** `verb resource code` to number of requests. */
  requests: Record<string, number>;
  /** Bytes of answers. */
  bytes: number;
}

/** What the API server asks itself for (leases, services, …) is left out. */
const resources = new Set([
  'controllerrevisions',
  'daemonsets',
  'events',
  'nodeclaims',
  'nodes',
  'poddisruptionbudgets',
  'pods',
]);
const readVerbs = new Set(['GET', 'LIST', 'WATCH']);
/** Of /proc: USER_HZ, which Linux fixes at 100 for programs. */
const tickMs = 10;

/** Runs `work`, and tells what it cost the server besides what `work` gives. */
export async function withServerCost<T>(
  facts: ServerFacts,
  client: KubeClient,
  work: () => Promise<T>,
): Promise<{ result: T; server: ServerCost }> {
  const before = await counters(client);
  const [apiserver, etcd] = [cpuMs(facts.apiserverPid), cpuMs(facts.etcdPid)];
  const result = await work();
  const apiserverCpuMs = cpuMs(facts.apiserverPid) - apiserver;
  const etcdCpuMs = cpuMs(facts.etcdPid) - etcd;
  const after = await counters(client);
  const requests: Record<string, number> = {};
  for (const [key, count] of after.requests) {
    const more = count - (before.requests.get(key) ?? 0);
    if (more > 0) requests[key] = more;
  }
  return {
    result,
    server: { apiserverCpuMs, etcdCpuMs, requests, bytes: after.bytes - before.bytes },
  };
}

interface Counters {
  requests: Map<string, number>;
  bytes: number;
}

async function counters(client: KubeClient): Promise<Counters> {
  const body = await text(await client.stream('/metrics'));
  const requests = new Map<string, number>();
  let bytes = 0;
  for (const line of body.split('\n')) {
    const match = /^apiserver_(request_total|response_sizes_sum)\{(.*)\} (\S+)$/.exec(line);
    if (match === null) continue;
    const [, metric, labelText = '', value] = match;
    const labels = new Map(
      [...labelText.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, label]) => [name, label]),
    );
    const verb = labels.get('verb') ?? '';
    const resource = labels.get('resource') ?? '';
    if (!readVerbs.has(verb) || !resources.has(resource)) continue;
    if (metric === 'response_sizes_sum') bytes += Number(value);
    else {
      const key = `${verb} ${resource} ${labels.get('code')}`;
      requests.set(key, (requests.get(key) ?? 0) + Number(value));
    }
  }
  return { requests, bytes };
}

/** User and system time of a process. */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name in parentheses, which may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}
