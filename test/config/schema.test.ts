import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configJsonSchema } from '../../lib/config/schema.ts';

const root = join(import.meta.dirname, '../..');

describe('editor schema', () => {
  it('is the one that the code makes (npm run schema)', () => {
    const written: unknown = JSON.parse(
      readFileSync(join(root, 'docs/nodegap.schema.json'), 'utf8'),
    );
    expect(written).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
  });

  it('describes every key', () => {
    const undescribed: string[] = [];
    const visit = (node: Record<string, unknown>, path: string): void => {
      const properties = (node.properties ?? {}) as Record<string, Record<string, unknown>>;
      for (const [key, part] of Object.entries(properties)) {
        if (typeof part.description !== 'string') undescribed.push(`${path}.${key}`);
        visit(part, `${path}.${key}`);
      }
      if (node.items !== undefined) visit(node.items as Record<string, unknown>, `${path}[]`);
    };
    visit(configJsonSchema(), '');
    expect(undescribed).toEqual([]);
  });

  it('names every key and its default in docs/configuration.md', () => {
    const text = readFileSync(join(root, 'docs/configuration.md'), 'utf8');
    const visit = (node: Record<string, unknown>): void => {
      const properties = (node.properties ?? {}) as Record<string, Record<string, unknown>>;
      for (const [key, part] of Object.entries(properties)) {
        const fallback = part.default;
        const plain = typeof fallback === 'string' || typeof fallback === 'number';
        const row = text
          .split('\n')
          .find(
            (line) =>
              line.startsWith(`| \`${key}\``) && (!plain || line.includes(`\`${fallback}\``)),
          );
        expect(row, `a row for ${key} with its default`).toBeDefined();
        visit(part);
      }
      if (node.items !== undefined) visit(node.items as Record<string, unknown>);
    };
    visit(configJsonSchema());
  });
});
