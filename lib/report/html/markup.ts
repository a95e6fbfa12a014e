/** HTML that is safe by construction: whatever is put into a template is escaped. */

/** Text that is HTML already. Made by `html` and `trusted` only. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | string | number | undefined | readonly Part[];

/** A template whose values are escaped, unless they are markup themselves; lists are joined. */
export function html(parts: TemplateStringsArray, ...values: readonly Part[]): Markup {
  let text = parts[0] ?? '';
  values.forEach((value, index) => {
    text += markupOf(value) + (parts[index + 1] ?? '');
  });
  return new Markup(text);
}

/** Takes text of our own as it is. Never for anything that came from a cluster. */
export function trusted(text: string): Markup {
  return new Markup(text);
}

function markupOf(value: Part): string {
  if (value === undefined) return '';
  if (value instanceof Markup) return value.text;
  if (typeof value === 'object') return value.map(markupOf).join('');
  return escaped(String(value));
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and for quoted attributes alike. */
export function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/**
 * Characters that cannot be seen, or that turn the direction of what follows, written out as
 * `\u202e`: a name must not look like another. Line breaks and tabs stay.
 */
export function visible(text: string): string {
  return text.replace(unseen, codeOf);
}

const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]/g;

/** As JavaScript and JSON write it. */
function codeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * JSON that may stand in a script element: nothing in it ends the element or begins a comment.
 * https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements
 */
export function scriptJson(value: unknown): Markup {
  const json = JSON.stringify(value).replace(/[<>&]/g, codeOf).replace(unseen, codeOf);
  return new Markup(json);
}
