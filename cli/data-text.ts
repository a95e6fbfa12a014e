/**
 * Results as data. Characters that a terminal would obey, or that nobody would see, stand as
 * escapes: what is read from it is the same, and what is looked at steers no terminal.
 */
import { Document, visit } from 'yaml';

/** All but the line breaks between our own lines. */
const unseen = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** JSON with a line for each field, or all on one `line`. Without a line break at its end. */
export function jsonText(value: unknown, line = false): string {
  return JSON.stringify(value, null, line ? 0 : 2).replace(unseen, jsonEscape);
}

/** YAML that ends in a line break. Kubernetes tools read YAML 1.1, where a bare `yes` is no text. */
export function yamlText(value: unknown): string {
  const document = new Document(value, { version: '1.1' });
  visit(document, {
    Scalar(_, node) {
      // Only between double quotes may a character be written as an escape. And the
      // library reads a block whose first line is blank back as another text.
      if (
        typeof node.value === 'string' &&
        (node.value.includes('\n') || node.value.search(unseen) >= 0)
      ) {
        node.type = 'QUOTE_DOUBLE';
      }
    },
  });
  return document.toString().replace(unseen, yamlEscape);
}

/** In UTF-16 units (RFC 8259, section 7). */
function jsonEscape(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/** In code points (YAML 1.2, section 5.7). */
function yamlEscape(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
}
