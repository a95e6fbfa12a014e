import { beforeAll, test } from 'vitest';
import { startControlPlane } from '../harness/control-plane.ts';

beforeAll(async () => {
  await startControlPlane({ flags: { etcd: ['--no-such-flag'] } });
});

test('is never run', () => undefined);
