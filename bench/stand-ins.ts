/**
 * What stands in on loopback for AWS and for a large cluster, so that the deployed code of the scan
 * runs as it is: the state table with a configuration and nothing else, an EKS that names the
 * cluster below, and an API server that has the cluster of the bench (plan.ts) in JSON.
 *
 * Gotcha: this API server knows no protobuf and no tables, so a scan of it shows the most that
 * reading can take. `relayTo` stands in front of the real one instead.
 */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Agent, request as sendRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { canonicalJson } from '../lib/config/canonical.ts';
import type { LoadedConfig } from '../lib/config/model.ts';
import { catalogue, daemonSetManifest } from './daemonsets.ts';
import { nodeManifest, nodeStatus, timestamp, uuidOf } from './nodes.ts';
import { type Plan, planOf } from './plan.ts';
import { daemonSetPod } from './pods.ts';

export interface StandIn {
  url: string;
  close(): void;
}

/** AWS, as far as a scan calls it, with a cluster at that endpoint. */
export function startAws(loaded: LoadedConfig, clusterUrl: string): Promise<StandIn> {
  const documents: Record<string, object> = {
    current: { sha256: { S: loaded.sha256 } },
    [`sha256#${loaded.sha256}`]: { document: { S: canonicalJson(loaded.config) } },
  };
  return serve(async (incoming, outgoing) => {
    const body = await bodyOf(incoming);
    const target = String(incoming.headers['x-amz-target'] ?? incoming.url);
    if (target.endsWith('.GetItem')) {
      const { Key } = JSON.parse(body) as { Key: { pk: { S: string }; sk: { S: string } } };
      const item = Key.pk.S === 'CONFIG' ? documents[Key.sk.S] : undefined;
      answerJson(outgoing, item === undefined ? {} : { Item: { ...Key, ...item } });
    } else if (target.endsWith('.Query')) {
      answerJson(outgoing, { Items: [], Count: 0 });
    } else if (target.startsWith('/clusters/')) {
      const [name = ''] = target.split('/').slice(2);
      answerJson(outgoing, { cluster: clusterRecord(name, clusterUrl) });
    } else if (target.endsWith('.TransactWriteItems')) {
      answerJson(outgoing, {});
    } else if (target.endsWith('.PutEvents')) {
      answerJson(outgoing, { Entries: [], FailedEntryCount: 0 });
    } else if (body.includes('Action=Publish')) {
      outgoing.end('<PublishResponse><PublishResult/></PublishResponse>');
    } else {
      outgoing.writeHead(501).end(`${target} has no stand-in`);
    }
  });
}

function clusterRecord(name: string, endpoint: string): object {
  return {
    name,
    arn: `arn:aws:eks:eu-west-1:111122223333:cluster/${name}`,
    endpoint,
    certificateAuthority: { data: Buffer.from('no authority: loopback').toString('base64') },
    status: 'ACTIVE',
    accessConfig: { authenticationMode: 'API' },
  };
}

/** An API server with the cluster of the bench, of that many nodes. */
export function startJsonCluster(nodes: number): Promise<StandIn> {
  const lists = listsOf(planOf(nodes), Date.now());
  return serve((incoming, outgoing) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://loopback');
    // The selector of DaemonSet pods. Any other pods, and events, there are none.
    const whole = !pathname.endsWith('/pods') || searchParams.has('labelSelector');
    const items = whole && !searchParams.has('fieldSelector') ? lists[pathname] : undefined;
    const from = Number(searchParams.get('continue') ?? 0);
    const to = from + Number(searchParams.get('limit') ?? 500);
    const metadata = {
      resourceVersion: '1000',
      ...(items !== undefined && to < items.length ? { continue: String(to) } : {}),
    };
    const page = { metadata, items: items?.slice(from, to).map((make) => make()) ?? [] };
    // The API server compresses long answers.
    const zipped = gzipSync(JSON.stringify(page), { level: 1 });
    outgoing.setHeader('content-type', 'application/json');
    if (String(incoming.headers['accept-encoding']).includes('gzip')) {
      outgoing.setHeader('content-encoding', 'gzip').end(zipped);
    } else {
      outgoing.end(JSON.stringify(page));
    }
  });
}

/** Objects are made when they are asked for: all of them at once would not fit. */
function listsOf(plan: Plan, now: number): Record<string, (() => object)[]> {
  const numbers = Array.from({ length: plan.size }, (_, node) => node);
  return {
    '/api/v1/nodes': numbers.map((node) => () => {
      const { metadata, spec } = nodeManifest(plan, node);
      const named = { ...metadata, uid: uuidOf(`node ${node}`) };
      return served({ metadata: named, spec, status: nodeStatus(plan, node, now) }, now);
    }),
    '/apis/apps/v1/daemonsets': catalogue.map((item) => () => {
      const { metadata, spec } = daemonSetManifest(item);
      return served({ metadata: { ...metadata, uid: uuidOf(item.key) }, spec, status: {} }, now);
    }),
    '/api/v1/pods': numbers.flatMap((node) =>
      catalogue.flatMap((item) => {
        const fault = plan.faultOf(node, item.key);
        if (fault === 'missing') return [];
        return () => {
          const state = { fault, nodeReady: !plan.notReady.has(node) };
          const pod = daemonSetPod(item, uuidOf(item.key), node, state, now);
          const metadata = { ...pod.manifest.metadata, uid: uuidOf(`${item.key} ${node}`) };
          return served({ metadata, spec: pod.manifest.spec, status: pod.status }, now);
        };
      }),
    ),
  };
}

interface Made {
  metadata: object;
  spec?: unknown;
  status: object;
}

/** With what the API server itself adds, of which the managed fields are the most. */
function served({ metadata, spec, status }: Made, now: number): object {
  const time = timestamp(now - 3_600_000);
  const managed = (manager: string, of: object) => ({
    manager,
    operation: 'Update',
    apiVersion: 'v1',
    time,
    fieldsType: 'FieldsV1',
    fieldsV1: fieldsOf(of),
  });
  return {
    metadata: {
      ...metadata,
      resourceVersion: '1000',
      creationTimestamp: time,
      managedFields: [
        managed('kube-controller-manager', { metadata, spec }),
        managed('kubelet', { status }),
      ],
    },
    spec,
    status,
  };
}

function fieldsOf(value: unknown): object {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      Array.isArray(value) ? `k:{"index":${name}}` : `f:${name}`,
      fieldsOf(part),
    ]),
  );
}

/** Passes everything on to a real API server, as whoever that token stands for. */
export async function relayTo(server: string, ca: string, token: string): Promise<StandIn> {
  const agent = new Agent({ keepAlive: true, ca });
  const relay = await serve(async (incoming, outgoing) => {
    const { host: _ours, ...asked } = incoming.headers;
    const headers = { ...asked, authorization: `Bearer ${token}` };
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const url = new URL(incoming.url ?? '/', server);
      sendRequest(url, { agent, method: incoming.method, headers }, resolve)
        .on('error', reject)
        .end();
    });
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    await pipeline(answer, outgoing);
  });
  return {
    ...relay,
    close() {
      relay.close();
      agent.destroy();
    },
  };
}

async function serve(listener: (...both: Parameters<RequestListener>) => void | Promise<void>) {
  const server: Server = createServer((incoming, outgoing) => {
    Promise.resolve(listener(incoming, outgoing)).catch((error: unknown) => {
      if (!outgoing.headersSent) outgoing.writeHead(500);
      outgoing.end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function answerJson(outgoing: ServerResponse, body: object): void {
  outgoing.setHeader('content-type', 'application/x-amz-json-1.0').end(JSON.stringify(body));
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
