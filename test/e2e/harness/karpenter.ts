import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parse } from 'yaml';
import type { KubeClient, KubeObject } from './client.ts';
import { assetPath, TOOLS } from './tools.ts';
import { waitFor } from './wait.ts';

interface CustomResourceDefinition extends KubeObject {
  status?: { conditions?: { type: string; status: string }[] };
}

/** Installs Karpenter's custom resources, and waits until the API server serves them. */
export async function applyKarpenterTypes(client: KubeClient): Promise<void> {
  const assets = TOOLS.find((tool) => tool.name === 'karpenter')?.assets ?? [];
  const types = assets.map(
    (asset) => parse(readFileSync(assetPath('karpenter', basename(asset)), 'utf8')) as KubeObject,
  );
  await Promise.all(types.map((type) => client.apply(type)));
  await Promise.all(types.map((type) => established(client, type.metadata.name)));
}

async function established(client: KubeClient, name: string): Promise<void> {
  await waitFor(
    async () => {
      const found = await client.get<CustomResourceDefinition>(
        `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`,
      );
      return found.status?.conditions?.some(
        (condition) => condition.type === 'Established' && condition.status === 'True',
      );
    },
    { timeout: 30_000, what: `the type ${name} to be served` },
  );
}
