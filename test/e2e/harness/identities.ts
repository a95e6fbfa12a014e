import { randomBytes } from 'node:crypto';

/** Who a test is: the RBAC of all but admin is the project's own, and starts empty. */
export type Identity = 'admin' | 'reader' | 'actuator' | 'operator';

export const IDENTITIES: Record<Identity, { user: string; groups: string[] }> = {
  admin: { user: 'nodegap-test-admin', groups: ['system:masters'] },
  reader: { user: 'nodegap-test-reader', groups: ['nodegap:reader'] },
  // As in a deployment: what acts also reads.
  actuator: { user: 'nodegap-test-actuator', groups: ['nodegap:reader', 'nodegap:actuator'] },
  /** A person who runs `nodegap remediate`. */
  operator: { user: 'nodegap-test-operator', groups: ['nodegap:operator'] },
};

export type Tokens = Record<Identity, string>;

/** A new random token for each identity. */
export function makeTokens(): Tokens {
  const token = () => randomBytes(24).toString('hex');
  return { admin: token(), reader: token(), actuator: token(), operator: token() };
}

/** The API server's token file: token, user, uid and quoted groups on each line. */
export function tokenFile(tokens: Tokens): string {
  return Object.entries(IDENTITIES)
    .map(([identity, { user, groups }]) => {
      return `${tokens[identity as Identity]},${user},${user},"${groups.join(',')}"\n`;
    })
    .join('');
}

/** A kubeconfig, which YAML readers accept as JSON. */
export function kubeconfig(server: string, caData: string, user: string, token: string): string {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'nodegap-e2e', cluster: { server, 'certificate-authority-data': caData } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: 'nodegap-e2e', context: { cluster: 'nodegap-e2e', user } }],
    'current-context': 'nodegap-e2e',
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
