/**
 * The minute scan, again and again in one process, through the parts of the library that the scan
 * function uses. `node bench/steady.ts KUBECONFIG EXTENT SCANS` with EXTENT quick or full, prints JSON.
 */
import { readFileSync } from 'node:fs';
import { systemClock } from '../lib/clock.ts';
import { defaultConfig } from '../lib/config/load.ts';
import { detectionPolicyOf } from '../lib/config/required.ts';
import { detect } from '../lib/gap/detect.ts';
import { readFullFacts, readQuickFacts } from '../lib/gap/quick-facts.ts';
import { createReader } from '../lib/kubernetes/reader.ts';
import { createTransport } from '../lib/kubernetes/transport.ts';

export interface SteadyScan {
  wallMs: number;
  cpuMs: number;
  requests: number;
  bytes: number;
  gaps: number;
}

interface Kubeconfig {
  clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
  users: { user: { token: string } }[];
}

const [file = '', extent, scans] = process.argv.slice(2);
// The bench writes its kubeconfigs as JSON.
const { clusters, users } = JSON.parse(readFileSync(file, 'utf8')) as Kubeconfig;
const { server = '', 'certificate-authority-data': ca = '' } = clusters[0]?.cluster ?? {};
const transport = createTransport({
  server,
  tls: { ca: Buffer.from(ca, 'base64') },
  userAgent: 'nodegap-bench',
  authorize: async (headers) => {
    headers.authorization = `Bearer ${users[0]?.user.token}`;
  },
});
const reader = createReader(transport);
const policy = detectionPolicyOf(defaultConfig('bench', 'eu-west-1'), { allDaemonSets: false });

const results: SteadyScan[] = [];
for (let scan = 0; scan < Number(scans); scan += 1) {
  const { requests, bytesReceived } = transport.stats;
  const started = performance.now();
  const usage = process.cpuUsage();
  const facts =
    extent === 'quick'
      ? await readQuickFacts(reader, 'bench', systemClock, { policy })
      : await readFullFacts(reader, 'bench', systemClock, { policy });
  const { gaps } = detect(facts, policy, systemClock.now());
  const { user, system } = process.cpuUsage(usage);
  results.push({
    wallMs: performance.now() - started,
    cpuMs: (user + system) / 1000,
    requests: transport.stats.requests - requests,
    bytes: transport.stats.bytesReceived - bytesReceived,
    gaps: gaps.length,
  });
}
transport.close();
console.log(JSON.stringify(results));
