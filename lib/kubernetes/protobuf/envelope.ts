/**
 * What the API server wraps around every protobuf body: four bytes, and the message `Unknown` with
 * the content as its field `raw` (k8s.io/apimachinery serializer/protobuf, runtime/generated.proto).
 */
import { PbfReader } from 'pbf';
import type { Answer } from '../errors.ts';

export const protobufType = 'application/vnd.kubernetes.protobuf';

/** Before every body. */
export const magic = Buffer.from('k8s\0');
/** The field of the envelope that holds the content. */
export const rawField = 2;

export function isProtobuf({ headers }: Pick<Answer, 'headers'>): boolean {
  return headers['content-type']?.startsWith(protobufType) ?? false;
}

/** The content of a body, or why there is none. @throws Error where bytes are missing. */
export function contentOf(body: Buffer): Uint8Array | 'cut short' | 'something else' {
  if (!body.subarray(0, magic.length).equals(magic)) return 'something else';
  const envelope = new PbfReader(body.subarray(magic.length));
  let raw: Uint8Array | undefined;
  for (let field = envelope.nextField(); field !== 0; field = envelope.nextField()) {
    if (field === rawField) raw = envelope.readBytes();
  }
  if (envelope.pos !== envelope.length) return 'cut short';
  return raw ?? 'something else';
}
