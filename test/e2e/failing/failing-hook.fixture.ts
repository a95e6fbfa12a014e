import { afterAll, beforeAll, test } from 'vitest';
import { type ControlPlane, startControlPlane } from '../harness/control-plane.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startControlPlane();
  throw new Error('the preparation fails');
});

afterAll(() => cluster?.stop());

test('is never run', () => undefined);
