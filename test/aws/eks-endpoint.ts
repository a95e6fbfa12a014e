/**
 * The endpoint of a cluster as EKS gives it out: TLS under the cluster's own authority, and in front
 * of it what moto's EKS cannot say, a DescribeCluster with an endpoint that is there.
 */
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import { account, region } from './account.ts';

const fixture = (name: string) =>
  readFileSync(new URL(`../kubernetes/fixtures/loopback-test-only.${name}.pem`, import.meta.url));

export interface EksEndpoint {
  /** The answer to DescribeCluster. */
  description: { cluster: Record<string, unknown> };
  close(): Promise<void>;
}

/** Puts TLS in front of an API server on loopback. */
export async function eksEndpoint(name: string, apiServer: string): Promise<EksEndpoint> {
  const { port } = new URL(apiServer);
  const open = new Set<Socket>();
  const server = createServer({ cert: fixture('cert'), key: fixture('key') }, (socket) => {
    const behind = connect(Number(port), '127.0.0.1');
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      open.add(one);
      one.pipe(other);
      // One side gone is the other side gone: the client sees a cut connection.
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    description: {
      cluster: {
        name,
        arn: `arn:aws:eks:${region}:${account}:cluster/${name}`,
        status: 'ACTIVE',
        endpoint: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
        certificateAuthority: { data: fixture('cert').toString('base64') },
        accessConfig: { authenticationMode: 'API' },
      },
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
