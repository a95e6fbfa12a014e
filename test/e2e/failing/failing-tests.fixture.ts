import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../harness/control-plane.ts';
import { applyNode } from '../harness/objects.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startControlPlane();
  await applyNode(cluster.client(), { name: 'kept-node' });
});

afterAll(() => cluster?.stop());

test('is right', () => {
  expect(cluster.server).toMatch(/^https:/);
});

test('is wrong', () => {
  expect(cluster.server).toBe('somewhere else');
});

test('never ends', { timeout: 100 }, () => new Promise(() => undefined));
