import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { nodegap } from './run.ts';

const manifests = `apiVersion: apps/v1
kind: DaemonSet
metadata: { name: fluent-bit, namespace: logging }
spec:
  selector: { matchLabels: { app: fluent-bit } }
  template:
    metadata: { labels: { app: fluent-bit } }
    spec:
      priorityClassName: system-node-critical
      containers: [{ name: main, image: 'fluent/fluent-bit:4.1' }]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: general }
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: default }
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: { name: default }
spec:
  amiSelectorTerms: [{ alias: al2023@latest }]
`;

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodegap-startup-'));
  await writeFile(join(folder, 'all.yaml'), manifests);
});
afterEach(() => rm(folder, { recursive: true }));

const run = (...argv: string[]) => nodegap(['startup-taints', '--manifests', folder, ...argv]);

describe('startup-taints', () => {
  it('prints patches for what the manifests hold', async () => {
    const { code, out } = await run();
    expect(code).toBe(0);
    expect(out).toContain('kind: NodePool');
    expect(out).toContain('- key: nodegap.dev/startup-fluent-bit\n          effect: NoSchedule');
    expect(out).toContain('kind: DaemonSet');
  });

  it('warns that nobody takes the taints off in a cluster that is not in act', async () => {
    const { err } = await run();
    expect(err).toContain('warning: ');
    expect(err).toContain('nobody would take the taints of nodegap off');
  });

  it('warns of a taint in use behind which no required DaemonSet stands', async () => {
    const attached = manifests.replace(
      '    spec:\n      nodeClassRef',
      '    spec:\n      startupTaints: [{ key: nodegap.dev/startup-gone, effect: NoSchedule }]\n      nodeClassRef',
    );
    await writeFile(join(folder, 'all.yaml'), attached);
    const { err } = await run();
    expect(err).toContain(
      'NodePool general puts nodegap.dev/startup-gone on new nodes, and no required DaemonSet stands behind it',
    );
  });

  it('gives the effect that is asked for', async () => {
    const { out } = await run('--effect', 'NoExecute');
    expect(out).toContain('nodegap.dev/startup-fluent-bit\n          effect: NoExecute');
  });

  it('writes Kustomize components, and overwrites nothing but by force', async () => {
    const out = join(folder, 'out');
    const first = await run('-o', 'kustomize', '--out', out);
    expect(first).toMatchObject({
      code: 0,
      out: `5 files in ${out}; ${out}/README.txt says in which order to use them\n`,
    });
    expect((await readdir(out)).sort()).toEqual(['README.txt', 'attachers', 'tolerations']);
    const readme = join(out, 'README.txt');
    await writeFile(readme, 'mine');
    const again = await run('-o', 'kustomize', '--out', out);
    expect(again.code).toBe(1);
    expect(again.err).toContain(`${out} already has README.txt, with another text`);
    expect(again.err).toContain('hint: give another folder by --out, or --force to overwrite');
    expect((await run('-o', 'kustomize', '--out', out, '--force')).code).toBe(0);
    expect(await readFile(readme, 'utf8')).toContain('Roll out in this order');
  });

  it('says when there is nothing to change', async () => {
    await writeFile(
      join(folder, 'all.yaml'),
      manifests
        .slice(0, manifests.indexOf('---'))
        .replace(
          '    spec:\n      priority',
          '    spec:\n      tolerations: [{ operator: Exists }]\n      priority',
        ),
    );
    expect((await run()).out).toMatch(/# Nothing to change\.\n$/);
    const written = await run('-o', 'kustomize', '--out', join(folder, 'out'));
    expect(written.out).toBe('nothing to change, and nothing was written\n');
  });

  it('proposes nothing on what its own output makes of the manifests', async () => {
    const { out } = await run();
    const patches = parseAllDocuments(out).map((document) => document.toJS());
    const patched = parseAllDocuments(manifests).map((document) => {
      for (const patch of patches) {
        if (patch?.kind !== document.get('kind')) continue;
        for (const [field, value] of Object.entries(patch.spec.template.spec)) {
          document.setIn(['spec', 'template', 'spec', field], value);
        }
      }
      return stringify(document);
    });
    await writeFile(join(folder, 'all.yaml'), patched.join('---\n'));
    expect(patched.join()).toContain('startupTaints');
    expect((await run()).out).toMatch(/# Nothing to change\.\n$/);
  });

  it.each([
    [['-o', 'kustomize'], '-o kustomize writes files, and no folder is given'],
    [['--out', 'x'], '--out is for -o kustomize: YAML is printed'],
    [['--force'], '--force is for the folder of --out'],
    [['--effect', 'Never'], '--effect: "Never" is not one of NoSchedule, NoExecute'],
  ])('refuses %j', async (argv, message) => {
    const { code, out, err } = await run(...argv);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(message);
  });

  it('refuses two DaemonSets that would share a taint by chance', async () => {
    const twin = manifests.slice(0, manifests.indexOf('---')).replace('logging', 'other');
    await writeFile(join(folder, 'twin.yaml'), twin);
    const { code, err } = await run();
    expect(code).toBe(1);
    expect(err).toContain('would share the taint nodegap.dev/startup-fluent-bit');
  });
});
