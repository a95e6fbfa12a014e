import { randomBytes } from 'node:crypto';

/** Who a test is: the RBAC of all but admin is the project's own, and starts empty. */
export type Identity = 'admin' | 'reader' | 'auditor' | 'reporter' | 'actuator' | 'operator';

export const IDENTITIES: Record<Identity, { user: string; groups: string[] }> = {
  admin: { user: 'nodegap-test-admin', groups: ['system:masters'] },
  reader: { user: 'nodegap-test-reader', groups: ['nodegap:reader'] },
  /** The daily audit. */
  auditor: { user: 'nodegap-test-auditor', groups: ['nodegap:auditor'] },
  /** What only tells people: it reads, and writes Events. */
  reporter: { user: 'nodegap-test-reporter', groups: ['nodegap:reporter'] },
  // As in a deployment: what acts also reads.
  actuator: { user: 'nodegap-test-actuator', groups: ['nodegap:reader', 'nodegap:actuator'] },
  /** A person who runs `nodegap remediate`. */
  operator: { user: 'nodegap-test-operator', groups: ['nodegap:operator'] },
};

/** More actuators than any suite has scenarios, so that the audit can tell these apart. */
const ACTUATORS = 64;

export interface Actuator {
  user: string;
  token: string;
}

export type Tokens = Record<Identity, string>;

/** A new random token for each identity. */
export function makeTokens(): Tokens {
  const telling = { reader: newToken(), auditor: newToken(), reporter: newToken() };
  return { admin: newToken(), ...telling, actuator: newToken(), operator: newToken() };
}

/** Users with the same rights as the actuator, each with a token of its own. */
export function makeActuators(): Actuator[] {
  return Array.from({ length: ACTUATORS }, (_, index) => ({
    user: `${IDENTITIES.actuator.user}-${index + 1}`,
    token: newToken(),
  }));
}

function newToken(): string {
  return randomBytes(24).toString('hex');
}

/** The API server's token file: token, user, uid and quoted groups on each line. */
export function tokenFile(tokens: Tokens, actuators: readonly Actuator[]): string {
  const line = (token: string, user: string, groups: string[]) =>
    `${token},${user},${user},"${groups.join(',')}"\n`;
  return [
    ...Object.entries(IDENTITIES).map(([identity, { user, groups }]) =>
      line(tokens[identity as Identity], user, groups),
    ),
    ...actuators.map(({ token, user }) => line(token, user, IDENTITIES.actuator.groups)),
  ].join('');
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
