/** Names what went wrong on the way to the API server, and what to check. */
import { messageOf } from '../errors.ts';
import { UnreachableError, type UnreachableReason } from './errors.ts';

const hints: Record<UnreachableReason, string> = {
  dns: 'check the server address and the DNS of the network that this runs in; a deleted cluster loses its name',
  refused: 'check that the API server runs and that address and port are right',
  tls: 'check that the certificate authority belongs to this cluster and that the address is in the certificate',
  'connect-timeout':
    'check security groups, the public access CIDRs of the endpoint, and whether the endpoint is private',
  timeout: 'the API server may be overloaded; try again, or look at its latency',
  reset: 'the connection was cut; check load balancers and proxies on the way, then try again',
  aborted: 'the caller gave up waiting',
};

/** The error for a failed connection or a request that broke off. `where` is scheme, host and port. */
export function unreachable(where: string, error: unknown): UnreachableError {
  if (error instanceof UnreachableError) return error;
  const reason = reasonOf(error);
  return unreachableBecause(reason, where, detailOf(reason, error), error);
}

/** An UnreachableError with the hint that goes with its reason. */
export function unreachableBecause(
  reason: UnreachableReason,
  where: string,
  detail: string,
  cause?: unknown,
): UnreachableError {
  return new UnreachableError(reason, `cannot reach ${where}: ${detail}`, {
    hint: hints[reason],
    ...(cause === undefined ? {} : { cause }),
  });
}

function reasonOf(error: unknown): UnreachableReason {
  if (error instanceof Error && error.name === 'AbortError') return 'aborted';
  const code = codeOf(error) ?? '';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns';
  if (['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL'].includes(code)) {
    return 'refused';
  }
  if (code === 'ETIMEDOUT') return 'connect-timeout';
  // OpenSSL's verification codes have no common prefix; EPROTO is a handshake that failed.
  if (/^(ERR_TLS|ERR_SSL|CERT_|CRL_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|EPROTO)/.test(code)) {
    return 'tls';
  }
  if (/^(INVALID_CA|HOSTNAME_MISMATCH|PATH_LENGTH|INVALID_PURPOSE)/.test(code)) return 'tls';
  return 'reset';
}

function detailOf(reason: UnreachableReason, error: unknown): string {
  const code = codeOf(error);
  switch (reason) {
    case 'dns':
      return 'its name does not resolve';
    case 'refused':
      return `the connection was refused (${code})`;
    case 'tls':
      return `its certificate was not accepted (${code})`;
    case 'aborted':
      return 'the request was given up';
    default:
      return code === undefined ? messageOf(error) : `${messageOf(error)} (${code})`;
  }
}

/** The system or TLS code; of several addresses that all failed, that of the first. */
function codeOf(error: unknown): string | undefined {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
