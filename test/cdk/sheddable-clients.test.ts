import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { clientNames, sheddableClients, withPlainKeys } from '../../cdk/sheddable-clients.ts';

const root = join(import.meta.dirname, '../..');

/** What a module of the SDK exports. They are written for bundlers, so one has to load them. */
async function exportsOf(file: string): Promise<Record<string, unknown>> {
  const { outputFiles } = await build({
    stdin: { contents: `export * from ${JSON.stringify(file)};`, resolveDir: root },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    write: false,
  });
  const module = { exports: {} };
  const code = outputFiles[0]?.text ?? '';
  new Function('module', 'require', code)(module, createRequire(import.meta.url));
  return module.exports;
}

/** Schemas point at one another through functions, of which only the text can be compared. */
const asText = (value: unknown) =>
  JSON.stringify(value, (_key, part) => (typeof part === 'function' ? String(part) : part));

describe('the copy of', () => {
  it.each(clientNames)('%s describes every operation as the client does', async (name) => {
    const alias = sheddableClients()[`@aws-sdk/${name}`] ?? '';
    const copy = join(root, alias, '..');
    const original = join(root, 'node_modules/@aws-sdk', name, 'dist-es');
    const [made, real] = await Promise.all(
      [copy, original].map((folder) => exportsOf(join(folder, 'schemas/schemas_0.js'))),
    );
    expect(Object.keys(real ?? {}).length).toBeGreaterThan(40);
    expect(Object.keys(made ?? {})).toEqual(Object.keys(real ?? {}));
    for (const [key, schema] of Object.entries(real ?? {})) {
      expect(asText(made?.[key]), key).toBe(asText(schema));
    }
  });

  it('EKS takes much less in a bundle that describes clusters', async () => {
    const bytesWith = async (alias: Record<string, string>) => {
      const contents = `export { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';`;
      const { metafile } = await build({
        stdin: { contents, resolveDir: root },
        alias,
        absWorkingDir: root,
        bundle: true,
        minify: true,
        platform: 'node',
        format: 'cjs',
        mainFields: ['module', 'main'],
        metafile: true,
        write: false,
      });
      const [output] = Object.values(metafile.outputs);
      const own = Object.entries(output?.inputs ?? {}).filter(([file]) => /client-eks/.test(file));
      return own.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0);
    };
    expect(await bytesWith(sheddableClients())).toBeLessThan(0.5 * (await bytesWith({})));
  });
});

describe('plain keys', () => {
  it('stand where a constant of the module stood', () => {
    expect(
      withPlainKeys('const _a = "http";\nconst _b = 1;\nconst c = { [_a]: 1, [_b]: 2, [d]: 3 };\n'),
    ).toBe('const _a = "http";\nconst _b = 1;\nconst c = { "http": 1, [_b]: 2, [d]: 3 };\n');
  });
});
