/** A request for the approval page, as an HTTP API hands it to a function, and the form in it. */
import * as z from '../../lib/zod.ts';
import { parseEvent } from './task.ts';

/** https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html */
const requestSchema = z.object({
  requestContext: z.object({ http: z.object({ method: z.string(), sourceIp: z.string() }) }),
  pathParameters: z.object({ id: z.string(), secret: z.string() }),
  headers: z.optional(z.record(z.string(), z.string())),
  body: z.optional(z.string()),
  isBase64Encoded: z.optional(z.boolean()),
});

export interface PageRequest {
  method: string;
  /** The address that the API saw the request come from; no header can change it. */
  address: string;
  id: string;
  secret: string;
  /** Without parameters, in lower case. */
  contentType: string;
  body: Buffer;
}

/** @throws NodegapError `BadInput` for what no HTTP API sends. */
export function readRequest(event: unknown): PageRequest {
  const { requestContext, pathParameters, headers, body, isBase64Encoded } = parseEvent(
    requestSchema,
    event,
  );
  return {
    method: requestContext.http.method.toUpperCase(),
    address: requestContext.http.sourceIp,
    ...pathParameters,
    contentType: (headers?.['content-type']?.split(';')[0] ?? '').trim().toLowerCase(),
    body: Buffer.from(body ?? '', isBase64Encoded === true ? 'base64' : 'utf8'),
  };
}

/** The largest form that is read, in bytes: many times what a person types. */
export const largestForm = 4096;

export interface SentForm {
  decision: string;
  name: string;
  confirm: string;
}

/** The fields of a form; one that is missing, or there twice, is empty. */
export function readForm(body: Buffer): SentForm {
  const fields = new URLSearchParams(body.toString('utf8'));
  const only = (field: string): string => {
    const [value = '', ...more] = fields.getAll(field);
    return more.length === 0 ? value : '';
  };
  return { decision: only('decision'), name: only('name'), confirm: only('confirm') };
}
