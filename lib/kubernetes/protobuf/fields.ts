/**
 * Readers of single protobuf fields, put together to messages that give what the API server's JSON
 * would hold. Zero values are dropped where Go's `omitempty` drops them and kept where it keeps
 * them, so a reader names the fields that stay with `kept…`. Fields that are not named are skipped
 * without being looked at: that is where the speed comes from.
 */
import type { PbfReader } from 'pbf';

/** A message under construction. */
export type Fields = Record<string, unknown>;

/** Reads the value of one field and puts it where it belongs. */
export type FieldReader = (reader: PbfReader, into: Fields) => void;

/** Reads a message that ends at `end`. */
export type MessageReader = (reader: PbfReader, end: number) => Fields;

/** A message of the given fields by number. `initial` holds what is there even when not sent. */
export function message(
  fields: Readonly<Record<number, FieldReader>>,
  initial: () => Fields = () => ({}),
): MessageReader {
  const byNumber: (FieldReader | undefined)[] = [];
  for (const [number, field] of Object.entries(fields)) byNumber[Number(number)] = field;
  return (reader, end) => {
    const into = initial();
    // pbf skips the value of a field that nobody has read.
    for (let number = reader.nextField(end); number !== 0; number = reader.nextField(end)) {
      byNumber[number]?.(reader, into);
    }
    return into;
  };
}

/**
 * As `read`, but gives the very same object when the bytes are those of the message before: the
 * pods of a DaemonSet follow one another and have their owner and containers in common. What comes
 * of it must not be changed.
 */
export function repeated(read: MessageReader): MessageReader {
  let before: { bytes: Uint8Array; value: Fields } | undefined;
  return (reader, end) => {
    const bytes = reader.buf.subarray(reader.pos, end);
    if (before === undefined || Buffer.compare(before.bytes, bytes) !== 0) {
      before = { value: read(reader, end), bytes: Buffer.from(bytes) };
    }
    reader.pos = end;
    return before.value;
  };
}

/** Reads a message that is the value of the field at hand. */
export function embedded(reader: PbfReader, read: MessageReader): Fields {
  const length = reader.readVarint();
  return read(reader, reader.pos + length);
}

export function text(name: string): FieldReader {
  return (reader, into) => {
    const value = reader.readString();
    if (value !== '') into[name] = value;
  };
}

/** As `text`, for values that many objects have in common. */
export function commonText(name: string): FieldReader {
  return (reader, into) => {
    const value = common(reader.readString());
    if (value !== '') into[name] = value;
  };
}

export function keptText(name: string): FieldReader {
  return (reader, into) => {
    into[name] = reader.readString();
  };
}

/** As `keptText`, for values that many objects have in common. */
export function keptCommonText(name: string): FieldReader {
  return (reader, into) => {
    into[name] = common(reader.readString());
  };
}

export function texts(name: string): FieldReader {
  return (reader, into) => {
    append(into, name, reader.readString());
  };
}

export function flag(name: string): FieldReader {
  return (reader, into) => {
    if (reader.readBoolean()) into[name] = true;
  };
}

export function keptFlag(name: string): FieldReader {
  return (reader, into) => {
    into[name] = reader.readBoolean();
  };
}

export function integer(name: string): FieldReader {
  return (reader, into) => {
    const value = reader.readVarint(true);
    if (value !== 0) into[name] = value;
  };
}

export function keptInteger(name: string): FieldReader {
  return (reader, into) => {
    into[name] = reader.readVarint(true);
  };
}

/** metav1.Time: whole seconds as RFC 3339. A zero time is sent as an empty message. */
export function time(name: string): FieldReader {
  return (reader, into) => {
    const { seconds } = embedded(reader, timestamp);
    if (typeof seconds === 'number') into[name] = rfc3339(seconds);
  };
}

export function one(name: string, read: MessageReader): FieldReader {
  return (reader, into) => {
    into[name] = embedded(reader, read);
  };
}

export function many(name: string, read: MessageReader): FieldReader {
  return (reader, into) => {
    append(into, name, embedded(reader, read));
  };
}

/** map<string, string> */
export function textMap(name: string): FieldReader {
  return (reader, into) => {
    const { key = '', value = '' } = embedded(reader, textEntry);
    mapOf(into, name)[String(key)] = common(String(value));
  };
}

/** map<string, Quantity> */
export function quantityMap(name: string): FieldReader {
  return (reader, into) => {
    const { key = '', value } = embedded(reader, quantityEntry);
    mapOf(into, name)[String(key)] = common(String((value as Fields | undefined)?.string ?? '0'));
  };
}

const timestamp = message({ 1: keptInteger('seconds') });
const textEntry = message({ 1: keptText('key'), 2: keptText('value') });
const quantity = message({ 1: keptText('string') });
const quantityEntry = message({ 1: keptText('key'), 2: one('value', quantity) });

function mapOf(into: Fields, name: string): Fields {
  const map = (into[name] as Fields | undefined) ?? {};
  into[name] = map;
  return map;
}

function append(into: Fields, name: string, value: unknown): void {
  const items = into[name];
  if (items === undefined) into[name] = [value];
  else (items as unknown[]).push(value);
}

const secondsPerDay = 86_400;
/** The texts of numbers below 60. */
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
let lastDay = { number: Number.NaN, text: '' };
let lastTime = { seconds: Number.NaN, text: '' };

/** Composed by hand, since a Date for each time costs more than all the rest of a pod. */
function rfc3339(seconds: number): string {
  if (seconds === lastTime.seconds) return lastTime.text;
  const day = Math.floor(seconds / secondsPerDay);
  if (day !== lastDay.number) {
    const text = new Date(day * secondsPerDay * 1000).toISOString().slice(0, 'YYYY-MM-DD'.length);
    lastDay = { number: day, text };
  }
  const second = seconds - day * secondsPerDay;
  const hours = twoDigits[Math.floor(second / 3600)];
  const minutes = twoDigits[Math.floor(second / 60) % 60];
  lastTime = { seconds, text: `${lastDay.text}T${hours}:${minutes}:${twoDigits[second % 60]}Z` };
  return lastTime.text;
}

/** More distinct values than this are not common. */
const maxCommon = 10_000;
const commonValues = new Map<string, string>();

/** The same text as before, where it was there before, so that only one of them is held. */
function common(value: string): string {
  const known = commonValues.get(value);
  if (known !== undefined) return known;
  if (commonValues.size < maxCommon) commonValues.set(value, value);
  return value;
}
