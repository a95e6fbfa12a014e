import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';

/** The packages that a module brings with it when bundled. */
async function packagesOf(module: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [new URL(`../../lib/${module}`, import.meta.url).pathname],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const names = Object.keys(metafile.inputs).map(
    (input) => /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(input)?.[1],
  );
  return [...new Set(names.filter((name) => name !== undefined))].sort();
}

describe('what the scan function imports', () => {
  it('brings nothing but the protobuf reader for reading a cluster', async () => {
    expect(await packagesOf('kubernetes/reader.ts')).toEqual(['pbf']);
    expect(await packagesOf('kubernetes/facts.ts')).toEqual([]);
  });

  it('brings neither client-node nor undici for an EKS cluster', async () => {
    const packages = await packagesOf('aws/eks-connect.ts');
    expect(packages).toContain('@smithy/signature-v4');
    expect(packages).not.toContain('@kubernetes/client-node');
    expect(packages).not.toContain('undici');
  });

  it('brings client-node only where something is written', async () => {
    expect(await packagesOf('aws/eks-connect-writer.ts')).toContain('@kubernetes/client-node');
  });
});
