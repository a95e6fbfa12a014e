/** What failed calls of EC2, Auto Scaling and EKS become. */
import { messageOf, NodegapError } from '../errors.ts';

/** The error code of AWS, `''` for anything else that was thrown. */
export function nameOf(cause: unknown): string {
  return cause instanceof Error ? cause.name : '';
}

const denials = new Set([
  'AccessDenied',
  'AccessDeniedException',
  // Of lib/aws/ec2-query.ts.
  'Ec2.denied',
]);

/** `Machines.Denied` for a right that is missing, else `Machines.Unavailable`, which may pass. */
export function failureOf(what: string, cause: unknown): NodegapError {
  if (cause instanceof NodegapError && cause.code.startsWith('Machines.')) return cause;
  const message = cause === undefined ? what : `${what}: ${messageOf(cause)}`;
  return denials.has(nameOf(cause))
    ? new NodegapError('Machines.Denied', message, {
        cause,
        hint: 'deploy again: the rights follow `replacement` in the configuration (docs/deploy.md)',
      })
    : new NodegapError('Machines.Unavailable', message, { cause });
}
