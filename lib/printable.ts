/** Text from outside, made safe to print. Data keeps what it was; this is for what people read. */

/**
 * One line in which every character is seen: control, invisible and direction-changing characters,
 * line breaks and halves of surrogate pairs are written out, as `\u001b` or `\n`. Text of a cluster
 * must neither steer a terminal nor look like other text.
 */
export function printable(text: string): string {
  return text.replace(unseen, codeOf);
}

/** As `printable`, but line breaks stay: for text whose lines are our own. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** At most `length` UTF-16 units of a text, the last a `…` where something is left out. */
export function cutTo(text: string, length: number): string {
  if (text.length <= length) return text;
  // A cut between the halves of a character leaves the first of them, which goes too.
  return `${text.slice(0, length - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

const short: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** As JavaScript writes it. */
function codeOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return short[character] ?? (code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`);
}
