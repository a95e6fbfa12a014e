/** URLs and headers in the forms that Node.js wants them in. */
import type { IncomingHttpHeaders } from 'node:http';
import { UsageError } from '../errors.ts';

/** @throws UsageError when it is not an http or https URL. */
export function serverUrl(server: string): URL {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new UsageError(`the server address "${server}" is not an http or https URL`);
  }
  return url;
}

/** With its `?`; empty without parameters. */
export function queryString(query: Record<string, string> | undefined): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? '' : `?${text}`;
}

/** Headers with one text each; several of one name are joined as HTTP allows. */
export function flatHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return flat;
}
