import type { Via } from '../safety/approvals.ts';

/** How a person answered. `address` is known of the approval page alone. */
export function viaText(via: Via, address?: string): string {
  return address === undefined ? words[via] : `${words[via]} from ${address}`;
}

const words: Record<Via, string> = {
  cli: 'through the CLI',
  link: 'on the approval page',
  terminal: 'at a terminal',
};
