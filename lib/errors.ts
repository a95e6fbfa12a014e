/**
 * Every error that nodegap raises on purpose. `code` is stable: scripts, the Step Functions
 * Catch and the metrics rest on it. `hint` says what a person can do about it.
 */
export class NodegapError extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    // Step Functions and aws-local-stepfunctions match errors by name, so the code is the name.
    this.name = code;
    this.code = code;
    this.hint = options.hint;
  }
}

/** What the user typed or wrote is wrong: one line, exit 1, no stack. */
export class UsageError extends NodegapError {
  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('Usage', message, options);
  }
}

/** The ways a Kubernetes call can fail that make a difference to the caller. */
export type KubernetesErrorKind =
  | 'unauthorised'
  | 'forbidden'
  | 'not-found'
  | 'conflict'
  | 'invalid'
  | 'gone'
  /** An answer from the past: older than what another read has shown before. */
  | 'stale'
  | 'throttled'
  | 'disruption-budget'
  | 'unreachable'
  | 'server';

/** A failed call of the Kubernetes API, told apart by `kind`. `status` is 0 when no answer came. */
export class KubernetesError extends NodegapError {
  readonly kind: KubernetesErrorKind;
  readonly status: number;
  /** Seconds that the server asked to wait, when it did. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    kind: KubernetesErrorKind,
    message: string,
    options: { status?: number; retryAfterSeconds?: number; hint?: string; cause?: unknown } = {},
  ) {
    super(`Kubernetes.${kind}`, message, options);
    this.kind = kind;
    this.status = options.status ?? 0;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** True when `error` is a KubernetesError of one of `kinds`. */
export function isKubernetesError(
  error: unknown,
  ...kinds: KubernetesErrorKind[]
): error is KubernetesError {
  return error instanceof KubernetesError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** The text of anything thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
