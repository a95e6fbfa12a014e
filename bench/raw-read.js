/**
 * The anchor: reads nodes, DaemonSets and the pods of DaemonSets as JSON, page by page, over one kept
 * connection, and throws them away. `node bench/raw-read.js KUBECONFIG [--parse]`
 *
 * Plain JavaScript, lest the anchor pay for a compiler.
 */
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:https';

const [file, flag] = process.argv.slice(2);
const parse = flag === '--parse';
// The bench writes its kubeconfigs as JSON.
const { clusters, users } = JSON.parse(readFileSync(file, 'utf8'));
const { server, 'certificate-authority-data': ca } = clusters[0].cluster;
const { token } = users[0].user;
const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: Buffer.from(ca, 'base64') });

let objects = 0;
for (const path of [
  '/api/v1/nodes?limit=500',
  '/apis/apps/v1/daemonsets?limit=500',
  '/api/v1/pods?limit=500&labelSelector=controller-revision-hash',
]) {
  let next = '';
  do {
    const body = await read(`${path}${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`);
    next = tokenOf(body);
  } while (next !== '');
}
if (parse) console.log(JSON.stringify({ objects }));
agent.destroy();

function read(path) {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    get(new URL(path, server), { agent, headers }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const body = Buffer.concat(chunks);
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`${path} was answered ${response.statusCode}: ${body}`));
      });
    }).on('error', reject);
  });
}

/** The list's metadata stand before the items, so reading raw need not look at those. */
function tokenOf(body) {
  if (!parse) return /"continue":"([^"]*)"/.exec(body.toString('utf8', 0, 2000))?.[1] ?? '';
  const list = JSON.parse(body.toString('utf8'));
  objects += list.items.length;
  return list.metadata.continue ?? '';
}
