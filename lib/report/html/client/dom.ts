/** Elements without HTML: text never becomes markup. */
import { visible } from '../markup.ts';

type Child = Node | string | undefined;

export interface Props {
  class?: string;
  /** Attributes; undefined leaves one out. */
  attrs?: Record<string, string | number | boolean | undefined>;
  on?: Partial<Record<keyof HTMLElementEventMap, (event: Event) => void>>;
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (props.class !== undefined) element.className = props.class;
  for (const [name, value] of Object.entries(props.attrs ?? {})) {
    if (value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? '' : visible(String(value)));
    }
  }
  for (const [type, listener] of Object.entries(props.on ?? {})) {
    element.addEventListener(type, listener);
  }
  for (const child of children) {
    if (child !== undefined) element.append(typeof child === 'string' ? visible(child) : child);
  }
  return element;
}

/** An element that the page is known to have. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element ${id}`);
  return element;
}
