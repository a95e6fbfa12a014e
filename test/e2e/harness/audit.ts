import { existsSync, readFileSync } from 'node:fs';
import { stringify } from 'yaml';
import { type Actuator, IDENTITIES } from './identities.ts';

/** One request, as the API server saw it. */
export interface AuditEntry {
  verb: string;
  resource: string;
  subresource?: string;
  namespace?: string;
  name?: string;
  /** HTTP status of the answer. */
  code: number;
  /** The body that was sent: a patch, an Eviction, an Event. */
  body?: unknown;
}

interface RawEntry {
  verb: string;
  user: { username: string };
  objectRef?: { resource: string; subresource?: string; namespace?: string; name?: string };
  responseStatus?: { code?: number };
  requestObject?: unknown;
}

/** Everything that all but `admin` ask for, with what they send, and nothing else. */
export function auditPolicy(actuators: readonly Actuator[]): string {
  const { admin: _, ...identities } = IDENTITIES;
  const watched = [...Object.values(identities), ...actuators];
  return stringify({
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived', 'ResponseStarted'],
    rules: [{ level: 'Request', users: watched.map(({ user }) => user) }, { level: 'None' }],
  });
}

/** The requests of one user, oldest first. */
export function readAuditLog(file: string, user: string): AuditEntry[] {
  // The API server makes the file with its first entry.
  if (!existsSync(file)) return [];
  const text = readFileSync(file, 'utf8');
  // What follows the last newline is still being written.
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as RawEntry)
    .filter((entry) => entry.user.username === user)
    .map(({ verb, objectRef, responseStatus, requestObject }) => ({
      verb,
      resource: objectRef?.resource ?? '',
      ...(objectRef?.subresource === undefined ? {} : { subresource: objectRef.subresource }),
      ...(objectRef?.namespace === undefined ? {} : { namespace: objectRef.namespace }),
      ...(objectRef?.name === undefined ? {} : { name: objectRef.name }),
      code: responseStatus?.code ?? 0,
      ...(requestObject === undefined ? {} : { body: requestObject }),
    }));
}

/** The requests that ask for a change. A review of what the caller may do is none. */
export function writesIn(entries: readonly AuditEntry[]): AuditEntry[] {
  return entries.filter(
    ({ verb, resource }) =>
      !['get', 'list', 'watch'].includes(verb) && resource !== 'selfsubjectaccessreviews',
  );
}
