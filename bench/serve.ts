/** `node bench/serve.ts --nodes 5000`: keeps the cluster of the bench up until Ctrl-C. */

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { startCluster } from './cluster.ts';

const { values } = parseArgs({ options: { nodes: { type: 'string', default: '5000' } } });
const cluster = await startCluster(Number(values.nodes), (line) => console.error(line));
const { stop, ...facts } = cluster;
const file = join(dirname(facts.caFile), '..', 'cluster.json');
writeFileSync(file, JSON.stringify(facts), { mode: 0o600 });
console.log(`as reader:  export KUBECONFIG=${facts.kubeconfigs.reader}`);
console.log(`as admin:   export KUBECONFIG=${facts.kubeconfigs.admin}`);
console.log(`measure it: npm run bench -- --attach ${file}`);
console.log('Ctrl-C ends it');
await new Promise<void>((resolve) => {
  process.once('SIGINT', resolve);
  process.once('SIGTERM', resolve);
});
await stop();
