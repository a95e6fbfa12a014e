import { addSecret } from '../../lib/safety/approval-links.ts';
import type { Ports } from './ports.ts';

/**
 * A link for one more notice about a question; undefined where the configuration or the stack has no
 * approval page. Whoever has it can answer: it goes into a notice and nowhere else. `deadline` is
 * that of the question, in epoch ms.
 */
export async function linkFor(
  ports: Pick<Ports, 'config' | 'table' | 'approvalPage'>,
  question: { id: string; deadline: number },
): Promise<string | undefined> {
  const { approvalPage } = ports;
  const { config } = await ports.config();
  if (approvalPage === undefined || !config.approvals.link) return undefined;
  const secret = approvalPage.newSecret();
  await addSecret(ports.table, question, secret);
  return `${approvalPage.url}/approvals/${encodeURIComponent(question.id)}/${secret}`;
}
