/** Turns what the API server or the network answered into the typed errors of lib/errors.ts. */
import {
  isKubernetesError,
  KubernetesError,
  type KubernetesErrorKind,
  messageOf,
} from '../errors.ts';

/** The parts of a meta/v1 Status that make a difference. */
export interface Status {
  reason: string | undefined;
  message: string;
  /** `details.name`: the object that a validation or admission refusal speaks of. */
  name: string | undefined;
  causes: { reason: string; message: string }[];
}

/** A request in the words of an error message. */
export interface RequestLine {
  method: string;
  path: string;
}

/**
 * An answer of the API server, whole. Header names are lower case. With a `content-encoding` among
 * them the body is still encoded.
 */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** A refusal that came as an answer, with its Status for callers that tell refusals apart. */
export class AnsweredError extends KubernetesError {
  readonly answer: Status;

  constructor(
    kind: KubernetesErrorKind,
    message: string,
    answer: Status,
    options: { status: number; retryAfterSeconds?: number; hint?: string },
  ) {
    super(kind, message, options);
    this.answer = answer;
  }
}

/** Why no usable answer came. After `timeout` and `reset` the request may have been carried out. */
export type UnreachableReason =
  | 'dns'
  | 'refused'
  | 'tls'
  | 'connect-timeout'
  | 'timeout'
  | 'reset'
  | 'aborted';

/** No usable answer came. */
export class UnreachableError extends KubernetesError {
  readonly reason: UnreachableReason;

  constructor(
    reason: UnreachableReason,
    message: string,
    options: { hint?: string; cause?: unknown },
  ) {
    super('unreachable', message, options);
    this.reason = reason;
  }

  /** True when the server may have done what was asked although no answer came. */
  get mayHaveHappened(): boolean {
    return this.reason === 'timeout' || this.reason === 'reset' || this.reason === 'aborted';
  }
}

const maxMessage = 500;

/**
 * The Status of a response body. A body that is none (a proxy's page, plain text) becomes a Status
 * with its first line as message.
 */
export function parseStatus(body: Buffer): Status {
  const text = body.toString('utf8');
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return textStatus(text);
  }
  if (!isRecord(parsed)) return textStatus(text);
  const details = isRecord(parsed.details) ? parsed.details : {};
  const causes = Array.isArray(details.causes) ? details.causes.filter(isRecord) : [];
  return {
    reason: stringOf(parsed.reason),
    message: shorten(stringOf(parsed.message) ?? ''),
    name: stringOf(details.name),
    causes: causes.map((cause) => ({
      reason: stringOf(cause.reason) ?? '',
      message: stringOf(cause.message) ?? '',
    })),
  };
}

function textStatus(text: string): Status {
  const firstLine = text.trim().split('\n', 1)[0] ?? '';
  return { reason: undefined, message: shorten(firstLine), name: undefined, causes: [] };
}

/** The error that an answer outside 200 to 299 stands for. */
export function errorFromAnswer(request: RequestLine, answer: Answer): AnsweredError {
  const status = parseStatus(answer.body);
  const kind = kindOf(answer.status, status);
  const retryAfterSeconds = retryAfter(answer.headers);
  const hint = hintOf(kind, status);
  return new AnsweredError(kind, describe(kind, request, answer.status, status), status, {
    status: answer.status,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(hint === undefined ? {} : { hint }),
  });
}

/** True when one of the Status causes has that reason. */
export function hasCause(status: Status, reason: string): boolean {
  return status.causes.some((cause) => cause.reason === reason);
}

function kindOf(code: number, status: Status): KubernetesErrorKind {
  if (code === 401) return 'unauthorised';
  if (code === 403) return 'forbidden';
  if (code === 404) return 'not-found';
  if (code === 409) return 'conflict';
  if (code === 410) return 'gone';
  // A budget and API priority and fairness both answer 429; only the cause tells them apart.
  if (code === 429) {
    return hasCause(status, 'DisruptionBudget') ? 'disruption-budget' : 'throttled';
  }
  return code >= 400 && code < 500 ? 'invalid' : 'server';
}

function describe(
  kind: KubernetesErrorKind,
  request: RequestLine,
  code: number,
  status: Status,
): string {
  const said = status.message === '' ? '' : `: ${status.message}`;
  if (kind === 'unauthorised') {
    return `the cluster did not accept the credentials (401 for ${line(request)})${said}`;
  }
  if (kind === 'forbidden') {
    const denied = deniedAccess(status.message);
    if (denied !== undefined) return `not allowed to ${denied.verb} ${denied.resource}${said}`;
  }
  return `${line(request)} was answered with ${code}${said}`;
}

function hintOf(kind: KubernetesErrorKind, status: Status): string | undefined {
  if (kind === 'unauthorised') {
    return 'check the token or certificate; on EKS, that the role has an access entry for this cluster';
  }
  if (kind === 'forbidden' && deniedAccess(status.message) !== undefined) {
    return 'print the roles that nodegap needs with `nodegap rbac` and apply them with kubectl';
  }
  return undefined;
}

/**
 * Verb and resource of an RBAC refusal, from the text of apiserver's forbidden message
 * (`… cannot VERB resource "RES" in API group "GROUP" …`). Other refusals give undefined.
 */
export function deniedAccess(message: string): { verb: string; resource: string } | undefined {
  const match = /cannot (\S+) resource "([^"]+)"(?: in API group "([^"]*)")?/.exec(message);
  const [, verb, resource, group] = match ?? [];
  if (verb === undefined || resource === undefined) return undefined;
  return {
    verb,
    resource: group === undefined || group === '' ? resource : `${resource}.${group}`,
  };
}

/**
 * The text of anything thrown, with what to apply when it is a refusal by RBAC: for where a hint
 * does not get to, as in the reason of an entry or the outcome of an attempt.
 */
export function messageWithRemedy(error: unknown): string {
  const message = messageOf(error);
  return isKubernetesError(error, 'forbidden') ? withRemedy(message) : message;
}

/** The same for the message alone. */
export function withRemedy(message: string): string {
  return message.startsWith('not allowed to ')
    ? `${message} (apply what \`nodegap rbac\` prints)`
    : message;
}

/** Seconds of a Retry-After header in its number form, the only one that Kubernetes sends. */
function retryAfter(headers: Record<string, string>): number | undefined {
  const value = headers['retry-after'];
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}

function line(request: RequestLine): string {
  return `${request.method} ${request.path}`;
}

function shorten(text: string): string {
  return text.length > maxMessage ? `${text.slice(0, maxMessage)}…` : text;
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
