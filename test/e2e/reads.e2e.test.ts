/** The protobuf that a real API server sends gives what its JSON gives, field by field. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compactPods } from '../../lib/kubernetes/compact-pod.ts';
import { listAll } from '../../lib/kubernetes/list.ts';
import type { ListFormat } from '../../lib/kubernetes/list-formats.ts';
import { projectNode } from '../../lib/kubernetes/projections.ts';
import { nodeFormat, scanPodFormat } from '../../lib/kubernetes/protobuf/objects.ts';
import { createTransport, type Transport } from '../../lib/kubernetes/transport.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import { named, strangeNode, strangePod } from './support/strange-objects.ts';

const seed = 20_261_130;
const amount = 150;

let cluster: ControlPlane;
let transport: Transport;

beforeAll(async () => {
  cluster = await startControlPlane({
    // Nobody is to clean up after what is strange.
    controllerManagerFlags: ['--controllers=namespace-controller'],
  });
  transport = createTransport({
    server: cluster.server,
    tls: { ca: readFileSync(cluster.caFile) },
    authorize: async (headers) => {
      headers.authorization = `Bearer ${cluster.tokens.admin}`;
    },
  });
  const admin = cluster.client();
  await admin.create('/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'strange' },
  });
  for (const [index, { node, status }] of fc
    .sample(strangeNode, { numRuns: amount, seed })
    .entries()) {
    const name = `n-${index}`;
    await admin.create('/api/v1/nodes', named(node, name));
    await admin.patch(`/api/v1/nodes/${name}/status`, { status });
  }
  for (const [index, { pod, status }] of fc
    .sample(strangePod, { numRuns: amount, seed })
    .entries()) {
    const name = `p-${index}`;
    await admin.create('/api/v1/namespaces/default/pods', named(pod, name));
    await admin.patch(`/api/v1/namespaces/default/pods/${name}/status`, { status });
    // What has a finalizer stays, on its way out.
    if (index % 3 === 0) await admin.delete(`/api/v1/namespaces/default/pods/${name}`);
  }
});

afterAll(async () => {
  transport?.close();
  await cluster?.stop();
});

/** Reads the same list in both formats, over and over until nothing changed in between. */
async function inBoth<T extends { metadata: { name: string } }>(
  path: string,
  project: (raw: unknown) => T,
  format: ListFormat,
): Promise<{ json: T[]; protobuf: T[] }> {
  const options = { sleep: async () => {}, limit: 40 };
  const asProtobuf = { ...options, format };
  for (;;) {
    const json = await listAll(transport, path, {}, project, options);
    const protobuf = await listAll(transport, path, {}, project, asProtobuf);
    const again = await listAll(transport, path, {}, project, options);
    if (JSON.stringify(json) === JSON.stringify(again)) return { json, protobuf };
  }
}

test('nodes are the same', async () => {
  const { json, protobuf } = await inBoth('/api/v1/nodes', projectNode, nodeFormat);
  expect(json.length).toBe(amount + 1);
  expect(protobuf).toEqual(json);
});

test('pods are the same, those that cover their node in short', async () => {
  const { json, protobuf } = await inBoth('/api/v1/pods', compactPods(), scanPodFormat());
  expect(json.length).toBeGreaterThan(amount / 2);
  expect(json.some(({ metadata }) => metadata.deletionTimestamp !== undefined)).toBe(true);
  expect(protobuf).toEqual(json);
  const short = protobuf.filter(({ status }) => !('containerStatuses' in status));
  expect(short.length).toBeGreaterThan(5);
});
