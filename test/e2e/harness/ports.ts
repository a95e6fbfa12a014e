import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Loopback ports that were free a moment ago. They are taken below the range which the kernel
 * hands out for outgoing connections, so that none of those takes one before its server binds.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries > 50 * count) throw new Error(`found only ${ports.size} of ${count} free ports`);
    const port = randomInt(15_000, 32_000);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
