/** Refusals in the form of the API server: `metav1.Status` bodies. */

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: { reason?: string; message?: string; field?: string }[];
  retryAfterSeconds?: number;
}

export interface StatusBody {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: Record<string, never>;
  status: 'Success' | 'Failure';
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code: number;
}

/** Thrown by the simulated API server, turned into an answer at its edge. */
export class StatusError extends Error {
  readonly body: StatusBody;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: number,
    reason: string | undefined,
    message: string,
    options: { details?: StatusDetails; retryAfterSeconds?: number } = {},
  ) {
    super(message);
    this.name = 'StatusError';
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.body = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason === undefined ? {} : { reason }),
      ...(options.details === undefined ? {} : { details: options.details }),
      code,
    };
  }
}

/** `poddisruptionbudgets.policy`, or `nodes` in the core group. */
export interface Subject {
  resource: string;
  group: string;
  name: string;
}

function qualified({ resource, group }: Subject): string {
  return group === '' ? resource : `${resource}.${group}`;
}

function detailsOf({ resource, group, name }: Subject): StatusDetails {
  return { name, kind: resource, ...(group === '' ? {} : { group }) };
}

export function notFound(subject: Subject): StatusError {
  return new StatusError(404, 'NotFound', `${qualified(subject)} "${subject.name}" not found`, {
    details: detailsOf(subject),
  });
}

/** A path that nothing is served under. */
export function noSuchPath(): StatusError {
  return new StatusError(404, 'NotFound', 'the server could not find the requested resource', {
    details: {},
  });
}

export function conflict(subject: Subject, why: string): StatusError {
  return new StatusError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(subject)} "${subject.name}": ${why}`,
    { details: detailsOf(subject) },
  );
}

export function staleObject(subject: Subject): StatusError {
  return conflict(
    subject,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
}

export function wrongUid(subject: Subject, wanted: string, actual: string): StatusError {
  return conflict(
    subject,
    `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${actual}`,
  );
}

export function alreadyExists(subject: Subject): StatusError {
  return new StatusError(
    409,
    'AlreadyExists',
    `${qualified(subject)} "${subject.name}" already exists`,
    { details: detailsOf(subject) },
  );
}

export function badRequest(message: string): StatusError {
  return new StatusError(400, 'BadRequest', message);
}

/** A JSON patch that does not apply. Names no object, unlike a failed validation. */
export function patchDoesNotApply(): StatusError {
  return new StatusError(
    422,
    'Invalid',
    'the server rejected our request due to an error in our request',
    { details: {} },
  );
}

export function invalid(
  kind: string,
  subject: Subject,
  causes: { field: string; message: string }[],
): StatusError {
  const text = causes.map(({ field, message }) => `${field}: ${message}`).join(', ');
  return new StatusError(422, 'Invalid', `${kind} "${subject.name}" is invalid: ${text}`, {
    details: {
      ...detailsOf(subject),
      causes: causes.map((cause) => ({ reason: 'FieldValueInvalid', ...cause })),
    },
  });
}

/** What a request fault (429, 503, …) is answered with when the scenario does not say. */
const usualReasons: Record<number, [reason: string, message: string]> = {
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'forbidden'],
  409: ['Conflict', 'the object has been modified'],
  410: [
    'Expired',
    'The provided continue parameter is too old to display a consistent list result.',
  ],
  429: ['TooManyRequests', 'too many requests, please try again later'],
  500: ['InternalError', 'Internal error occurred'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'Timeout: request did not complete within requested timeout'],
};

export function usualRefusal(
  code: number,
  options: { reason?: string; message?: string; retryAfterSeconds?: number } = {},
): StatusError {
  const [reason, message] = usualReasons[code] ?? ['Unknown', `status ${code}`];
  return new StatusError(code, options.reason ?? reason, options.message ?? message, {
    ...(options.retryAfterSeconds === undefined
      ? {}
      : { retryAfterSeconds: options.retryAfterSeconds }),
  });
}
