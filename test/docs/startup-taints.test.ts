/** docs/startup-taints.md tells of known agents what the catalogue has. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { knownAgents } from '../../lib/prevention/agents.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/startup-taints.md'), 'utf8');
const rows = page.split('\n').filter((line) => /^\| \[/.test(line));

test('the table of known agents is that of the catalogue', () => {
  const expected = knownAgents.map(({ title, sources, taintKey, effect, remover }) => {
    const cells = [
      `[${title}](${sources[0]})`,
      `\`${taintKey}\``,
      effect,
      remover.what,
      remover.turnOn,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  expect(rows).toEqual(expected);
});
