/** DaemonSets of manifests/eks.yaml as the audit is told of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { InputReference, WrittenDaemonSet } from '../../lib/prevention/facts.ts';

type Manifest = Omit<WrittenDaemonSet, 'inputs' | 'status'>;
type Volumes = { configMap?: { name: string }; secret?: { secretName: string } }[];

const text = readFileSync(join(import.meta.dirname, 'manifests', 'eks.yaml'), 'utf8');

/** All of them, or those of the names. */
export function eksDaemonSets(...names: string[]): WrittenDaemonSet[] {
  return parseAllDocuments(text)
    .map((document): Manifest => document.toJS())
    .filter(({ metadata }) => names.length === 0 || names.includes(metadata.name))
    .map((manifest) => ({
      ...manifest,
      metadata: { ...manifest.metadata, uid: `uid-${manifest.metadata.name}` },
      status: {},
      inputs: inputsOf(manifest),
    }));
}

function inputsOf({ spec }: Manifest): InputReference[] {
  const volumes: Volumes = JSON.parse(JSON.stringify(spec.template.spec.volumes ?? []));
  return volumes.flatMap(({ configMap }, index): InputReference[] =>
    configMap === undefined
      ? []
      : [{ kind: 'ConfigMap', name: configMap.name, optional: false, at: `volumes[${index}]` }],
  );
}
