/** Bodies and the content encoding that they came in. */
import { createGunzip, gunzip } from 'node:zlib';
import type { Answer } from './errors.ts';

/** A whole body without its content encoding. Rejects for one that was not asked for. */
export async function decode(raw: Buffer, encoding: string | undefined): Promise<Buffer> {
  if (!isGzip(encoding)) return raw;
  return new Promise((resolve, reject) => {
    // One byte more than needed: zlib gets itself another buffer once one is full.
    const chunkSize = Math.min(Math.max(unzippedSize(raw) + 1, minChunk), maxChunk);
    gunzip(raw, { chunkSize }, (error, body) => (error === null ? resolve(body) : reject(error)));
  });
}

/** A body that is decoded when it is read. Either method is called once. */
export interface EncodedBody {
  /** Rejects when the body is broken. */
  whole(): Promise<Buffer>;
  /** For large bodies of which only a part is to be held. Throws when the body is broken. */
  pieces(): AsyncIterable<Buffer>;
}

/** The body of an answer that may still be encoded. `count` hears of the decoded bytes. */
export function encodedBody(
  { body, headers }: Pick<Answer, 'body' | 'headers'>,
  count: (bytes: number) => void,
): EncodedBody {
  const encoding = headers['content-encoding'];
  return {
    async whole() {
      const decoded = await decode(body, encoding);
      // A body without an encoding was counted by the transport.
      if (decoded !== body) count(decoded.length);
      return decoded;
    },
    async *pieces() {
      if (!isGzip(encoding)) {
        yield body;
        return;
      }
      const unzip = createGunzip({ chunkSize: pieceSize });
      unzip.end(body);
      for await (const piece of unzip as AsyncIterable<Buffer>) {
        count(piece.length);
        yield piece;
      }
    },
  };
}

/**
 * Frees the memory of bytes that nobody reads any more. The garbage collector would let some 60 MB
 * of them come together first. Small ones share their memory with others (Buffer.poolSize).
 */
export function giveBack({ buffer, byteLength }: Buffer): void {
  const isWhole = byteLength > Buffer.poolSize && buffer.byteLength === byteLength;
  if (isWhole && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

const pieceSize = 256 * 1024;
/** zlib takes no less. */
const minChunk = 64;
/** No page is larger; what a broken answer claims is not believed beyond it. */
const maxChunk = 32 * 1024 * 1024;

/** @throws Error for an encoding that was not asked for. */
function isGzip(encoding: string | undefined): boolean {
  if (encoding === undefined || encoding === 'identity') return false;
  if (encoding === 'gzip') return true;
  throw new Error(`content-encoding ${encoding}`);
}

/**
 * What the end of a gzip stream says (RFC 1952, ISIZE). A buffer of that size holds the body at
 * once, where zlib otherwise fills many small ones and copies them together.
 */
function unzippedSize(raw: Buffer): number {
  return raw.length < 4 ? 0 : raw.readUInt32LE(raw.length - 4);
}
