/**
 * The secrets of links to the approval page. A link is good for one question; each notice carries a
 * secret of its own, since the table keeps no secret, only its sha256, and so cannot tell an earlier
 * one again.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { ItemKey, StateTable } from '../ports.ts';
import { ttlOf } from './approval-items.ts';
import { setOf } from './item-fields.ts';

export const LINKS_PK = 'approval-links';

/** Compared with when a question has no links, so that both take the same time. */
const nothing = '0'.repeat(64);

function linksKey(id: string): ItemKey {
  return { pk: LINKS_PK, sk: id };
}

/** Makes one more secret open the question. `deadline` (epoch ms) is that of the question. */
export async function addSecret(
  table: StateTable,
  question: { id: string; deadline: number },
  secret: string,
): Promise<void> {
  await table.transact([
    {
      kind: 'update',
      key: linksKey(question.id),
      set: { ttl: ttlOf(question.deadline) },
      addToSet: { hashes: [sha256(secret)] },
    },
  ]);
}

/**
 * Whether the secret opens the question. How long that takes tells nothing about how much of a
 * secret is right, nor whether there is such a question.
 */
export async function opens(table: StateTable, id: string, secret: string): Promise<boolean> {
  const kept = setOf(await table.get(linksKey(id)), 'hashes');
  const given = Buffer.from(sha256(secret));
  let found = false;
  for (const hash of kept.size === 0 ? [nothing] : kept) {
    const wanted = Buffer.from(hash);
    // All of them are looked at, also after one that fits.
    if (wanted.length === given.length && timingSafeEqual(wanted, given)) found = true;
  }
  return found;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
