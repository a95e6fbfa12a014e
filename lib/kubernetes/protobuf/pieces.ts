/**
 * Reads a protobuf list from pieces of its body, so that of a page of 20 MB only a piece is held.
 *
 * How it works: on the way to the items every field has a length (the envelope `Unknown` around the
 * list, ListMeta = 1 and items = 2 in it), so what is needed is at hand or more is fetched. An item
 * is read once all of it is there; what is left of a piece is put before the next one.
 */
import { PbfReader } from 'pbf';
import { giveBack } from '../content-encoding.ts';
import { magic, rawField } from './envelope.ts';

/** Why a body is no list. */
export class NotAListError extends Error {}
/** The body ends in the middle of something. */
export class CutShortError extends Error {}

/** A list that was opened: its metadata is read, its items come next. */
export interface OpenList {
  readMetadata<T>(read: (reader: PbfReader, end: number) => T): T;
  /** Items as they come, some at a time. @throws CutShortError. */
  items<T>(read: (reader: PbfReader, end: number) => T): AsyncGenerator<T[]>;
}

/**
 * Opens the list that `pieces` hold.
 * @throws NotAListError, CutShortError
 */
export async function openList(pieces: AsyncIterable<Buffer>): Promise<OpenList> {
  const bytes = new Bytes(pieces);
  if (!(await bytes.fetch(magic.length)) || !bytes.take(magic.length).equals(magic)) {
    throw new NotAListError('no envelope');
  }
  let field = await bytes.field();
  for (; field !== undefined && field.number !== rawField; field = await bytes.field()) {
    await bytes.require(field.length);
    bytes.take(field.length);
  }
  if (field === undefined) throw new NotAListError('no content');
  const contentEnd = bytes.position + field.length;
  // The list's own metadata comes first, also in a list of nothing; without it nobody knows
  // whether the list goes on.
  const metadata = field.length === 0 ? undefined : await bytes.field();
  if (metadata?.number !== 1) throw new NotAListError('no metadata');
  await bytes.require(metadata.length);
  const metadataBytes = bytes.take(metadata.length);
  return {
    readMetadata: (read) => read(new PbfReader(metadataBytes), metadataBytes.length),
    items: (read) => itemsOf(bytes, contentEnd, read),
  };
}

async function* itemsOf<T>(
  bytes: Bytes,
  contentEnd: number,
  read: (reader: PbfReader, end: number) => T,
): AsyncGenerator<T[]> {
  while (bytes.position < contentEnd) {
    const items = bytes.readHeld(contentEnd, read);
    if (items.length > 0) yield items;
    if (bytes.position < contentEnd && !(await bytes.fetchMore())) throw new CutShortError();
  }
  // What follows the content in the envelope has to be whole as well.
  for (let field = await bytes.field(); field !== undefined; field = await bytes.field()) {
    await bytes.require(field.length);
    bytes.take(field.length);
  }
}

interface FieldHead {
  number: number;
  /** Bytes of its value, which are the next ones. */
  length: number;
}

const lengthDelimited = 2;
/** A tag and a length, of which each takes five bytes at most. */
const headSize = 10;

/** The bytes of pieces, in order. */
class Bytes {
  readonly #pieces: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);
  #at = 0;
  #before = 0;

  constructor(pieces: AsyncIterable<Buffer>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** From the beginning of the body. */
  get position(): number {
    return this.#before + this.#at;
  }

  /** Whether `count` more bytes could be had. */
  async fetch(count: number): Promise<boolean> {
    while (this.#held.length - this.#at < count) {
      if (!(await this.fetchMore())) return false;
    }
    return true;
  }

  /** @throws CutShortError when `count` more bytes could not be had. */
  async require(count: number): Promise<void> {
    if (!(await this.fetch(count))) throw new CutShortError();
  }

  /** Gets one more piece. False at the end. */
  async fetchMore(): Promise<boolean> {
    const { done, value: piece } = await this.#pieces.next();
    if (done === true) return false;
    const rest = this.#held.subarray(this.#at);
    const used = this.#held;
    this.#held = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    this.#before += this.#at;
    this.#at = 0;
    giveBack(used);
    if (this.#held !== piece) giveBack(piece);
    return true;
  }

  /** The next `count` bytes, copied. They have been fetched. */
  take(count: number): Buffer {
    const taken = Buffer.from(this.#held.subarray(this.#at, this.#at + count));
    this.#at += count;
    return taken;
  }

  /** The next field up to its value; undefined at the end of the body. */
  async field(): Promise<FieldHead | undefined> {
    await this.fetch(headSize);
    if (this.#at === this.#held.length) return undefined;
    const reader = this.#reader();
    const head = headAt(reader);
    if (head === undefined) throw new CutShortError();
    this.#at = reader.pos;
    return head;
  }

  /** Reads the items that are held as a whole, and skips other fields. */
  readHeld<T>(contentEnd: number, read: (reader: PbfReader, end: number) => T): T[] {
    const items: T[] = [];
    const reader = this.#reader();
    const last = contentEnd - this.#before;
    while (this.#at < Math.min(this.#held.length, last)) {
      const head = headAt(reader);
      if (head === undefined) break;
      const end = reader.pos + head.length;
      if (end > last) throw new CutShortError();
      if (end > this.#held.length) break;
      if (head.number === 2) items.push(read(reader, end));
      reader.pos = end;
      this.#at = end;
    }
    return items;
  }

  #reader(): PbfReader {
    const reader = new PbfReader(this.#held);
    reader.pos = this.#at;
    return reader;
  }
}

/** Undefined when not all of it is there. @throws NotAListError */
function headAt(reader: PbfReader): FieldHead | undefined {
  const tag = varintAt(reader);
  const length = tag === undefined ? undefined : varintAt(reader);
  if (tag === undefined || length === undefined) return undefined;
  if ((tag & 7) !== lengthDelimited) throw new NotAListError('a field without length');
  return { number: tag >>> 3, length };
}

/** pbf reads past the end of its bytes, so the end of the number is looked for first. */
function varintAt(reader: PbfReader): number | undefined {
  const { buf, pos } = reader;
  for (let at = pos; at < buf.length; at += 1) {
    if ((buf[at] ?? 0) < 0x80) return reader.readVarint();
  }
  return undefined;
}
