import { gunzip } from 'node:zlib';

/** A whole body without its content encoding. Rejects for one that was not asked for. */
export function decode(raw: Buffer, encoding: string | undefined): Promise<Buffer> {
  if (encoding === undefined || encoding === 'identity') return Promise.resolve(raw);
  if (encoding !== 'gzip') return Promise.reject(new Error(`content-encoding ${encoding}`));
  return new Promise((resolve, reject) => {
    const chunkSize = Math.min(Math.max(unzippedSize(raw), minChunk), maxChunk);
    gunzip(raw, { chunkSize }, (error, body) => (error === null ? resolve(body) : reject(error)));
  });
}

/** zlib takes no less. */
const minChunk = 64;
/** No page is larger; what a broken answer claims is not believed beyond it. */
const maxChunk = 32 * 1024 * 1024;

/**
 * What the end of a gzip stream says (RFC 1952, ISIZE). A buffer of that size holds the body at
 * once, where zlib otherwise fills many small ones and copies them together.
 */
function unzippedSize(raw: Buffer): number {
  return raw.length < 4 ? 0 : raw.readUInt32LE(raw.length - 4);
}
