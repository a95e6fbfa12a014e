import { describe, expect, it } from 'vitest';
import type { Transport } from '../../lib/kubernetes/transport.ts';
import { readInstallation } from '../../local/remediate/installation.ts';

function answering(status: number, body: object): Transport {
  const answer = { status, headers: {}, body: Buffer.from(JSON.stringify(body)) };
  return { request: async () => answer } as unknown as Transport;
}

describe('the installation of all command lines on a cluster', () => {
  it('is named after the uid of kube-system', async () => {
    const transport = answering(200, { metadata: { uid: 'u1' } });
    expect(await readInstallation(transport)).toBe('local/u1');
  });

  it('names the role that may read it to whoever may not', async () => {
    const message =
      'namespaces "kube-system" is forbidden: User "ana" cannot get resource "namespaces" in API group "" in the namespace "kube-system"';
    const failing = readInstallation(answering(403, { message }));
    await expect(failing).rejects.toMatchObject({
      kind: 'forbidden',
      status: 403,
      message: expect.stringContaining('not allowed to get namespaces'),
      hint: expect.stringContaining('`nodegap rbac --operator`'),
    });
  });
});
