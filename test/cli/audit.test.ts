import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { nodegap } from './run.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodegap-audit-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = async (file: string, text: string) => {
  await mkdir(dirname(join(folder, file)), { recursive: true });
  await writeFile(join(folder, file), text);
};
const audit = (...options: string[]) => nodegap(['audit', '--manifests', folder, ...options]);

const agent = `apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent, namespace: kube-system }
spec:
  selector: { matchLabels: { app: agent } }
  minReadySeconds: 30
  updateStrategy: { type: RollingUpdate, rollingUpdate: { maxUnavailable: 1 } }
  template:
    metadata: { labels: { app: agent } }
    spec:
      priorityClassName: system-node-critical
      tolerations: [{ operator: Exists }]
      containers:
        - name: main
          image: example.com/agent:v1
          readinessProbe: { httpGet: { path: /, port: 8080 } }
`;
const permanent = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: general }
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: default }
      taints: [{ key: nodegap.dev/startup-agent, effect: NoSchedule }]
`;

/** What SARIF 2.1.0 demands of the parts that are used. */
const message = z.strictObject({ text: z.string().min(1) });
const sarif = z.strictObject({
  $schema: z.url(),
  version: z.literal('2.1.0'),
  runs: z.tuple([
    z.strictObject({
      tool: z.strictObject({
        driver: z.strictObject({
          name: z.literal('nodegap'),
          version: z.string(),
          rules: z.array(
            z.strictObject({
              id: z.string(),
              name: z.string().regex(/^[A-Z]\w+$/),
              shortDescription: message,
              help: message,
            }),
          ),
        }),
      }),
      automationDetails: z.strictObject({ id: z.string() }),
      invocations: z.tuple([
        z.strictObject({
          executionSuccessful: z.literal(true),
          toolExecutionNotifications: z.array(
            z.strictObject({
              level: z.literal('note'),
              message,
              associatedRule: z.strictObject({ id: z.string() }),
            }),
          ),
        }),
      ]),
      results: z.array(
        z.strictObject({
          ruleId: z.string(),
          ruleIndex: z.int().nonnegative(),
          level: z.enum(['error', 'warning', 'note']),
          message,
          locations: z.tuple([
            z.strictObject({
              logicalLocations: z.array(z.looseObject({ fullyQualifiedName: z.string() })),
              physicalLocation: z
                .strictObject({
                  artifactLocation: z.strictObject({ uri: z.string().regex(/^[^\\ ]+$/) }),
                  region: z.strictObject({ startLine: z.int().positive(), message }),
                })
                .optional(),
            }),
          ]),
          partialFingerprints: z.record(z.string(), z.string().regex(/^[0-9a-f]{32}$/)),
        }),
      ),
    }),
  ]),
});

describe('nodegap audit', () => {
  it('breaks comments of a change to the width, and leaves commands whole', async () => {
    await write(
      'agent.yaml',
      agent.replace(/^ +readinessProbe.*\n/m, '').replace(':v1', ':latest'),
    );
    const lines = (await audit()).out.split('\n');
    const comments = lines.filter((line) => line.startsWith('      # '));
    expect(comments.join('\n')).toMatch(/# Nothing in the template tells .*\n +# \S/);
    expect(comments.filter((line) => line.length > 80)).toEqual([
      expect.stringMatching(/^ {6}# kubectl .*imageID\}'$/),
    ]);
    expect(lines).toContain('      kubectl -n kube-system edit daemonset agent');
  });

  it('exits 0 where nothing is wrong, and says what it could not check', async () => {
    await write('agent.yaml', agent);
    const { code, out, err } = await audit();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('not checked');
    expect(out).toMatch(/✓ 0 errors, 0 warnings, \d notes?; 1 required DaemonSet of /);
  });

  it('exits 2 on an error, with place, reason and change', async () => {
    await write('apps/agent.yaml', agent);
    await write('pools/general.yaml', permanent);
    const { code, out } = await audit();
    expect(code).toBe(2);
    expect(out).toContain(`NodePool general (${join(folder, 'pools/general.yaml')}:2)`);
    expect(out).toContain('error startup-taint-permanent');
    expect(out).toContain('startupTaints:');
    const tooLong = out.split('\n').filter((line) => line.length > 80 && line.startsWith('    '));
    expect(tooLong.filter((line) => !line.startsWith('      '))).toEqual([]);
  });

  it.each([
    ['never', 0],
    ['error', 2],
    ['note', 2],
  ])('exits with --fail-on %s by %i', async (failOn, code) => {
    await write('all.yaml', `${agent}---${permanent}`);
    expect((await audit('--fail-on', failOn)).code).toBe(code);
  });

  it('prints data', async () => {
    await write('all.yaml', `${agent}---${permanent}`);
    const { out } = await audit('-o', 'json');
    const data = JSON.parse(out);
    expect(data).toMatchObject({
      schemaVersion: 1,
      source: 'manifests',
      daemonSets: ['kube-system/agent'],
      findings: expect.arrayContaining([
        expect.objectContaining({
          check: 'startup-taint-permanent',
          severity: 'error',
          subject: {
            kind: 'NodePool',
            name: 'general',
            origin: { kind: 'file', file: join(folder, 'all.yaml'), line: 18 },
          },
        }),
      ]),
    });
    const { error, warning, note } = data.summary;
    expect(error + warning + note).toBe(data.findings.length);
  });

  it('prints SARIF that code scanning can read', async () => {
    await write('with space.yaml', `${agent}---${permanent}`);
    const { out } = await audit('-o', 'sarif');
    const { runs } = sarif.parse(JSON.parse(out));
    const [{ tool, results }] = runs;
    expect(results.map(({ ruleId }) => ruleId)).toContain('startup-taint-permanent');
    for (const { ruleId, ruleIndex } of results) {
      expect(tool.driver.rules[ruleIndex]?.id).toBe(ruleId);
    }
  });

  it('gives the same finding the same fingerprint wherever it stands', async () => {
    await write('a.yaml', permanent);
    const prints = async () => {
      const { runs } = sarif.parse(JSON.parse((await audit('-o', 'sarif')).out));
      return runs[0].results.map(({ partialFingerprints }) => partialFingerprints).sort();
    };
    const before = await prints();
    expect(before.length).toBeGreaterThan(0);
    await rm(join(folder, 'a.yaml'));
    await write('moved/b.yaml', `# a line\n---${permanent}`);
    expect(await prints()).toEqual(before);
  });

  it('passes over templates, hidden folders and what is not YAML', async () => {
    await write('agent.yaml', agent);
    await write('chart/templates/a.yaml', 'kind: {{ .Values.kind }}\n{{- end }}');
    await write('.git/broken.yaml', 'a: [');
    await write('README.md', '# {');
    const { code, err } = await audit();
    expect(code).toBe(0);
    expect(err).toContain('warning: passed over 1 template, render first: ');
  });

  it.each<[string, () => Promise<void>, RegExp]>([
    [
      'a broken file',
      () => write('a/b.yaml', 'apiVersion: v1\nx: [1}'),
      /a\/b\.yaml:2: not valid YAML: /,
    ],
    ['a folder without YAML', () => write('a.md', 'x'), /holds no YAML or JSON file/],
    [
      'a folder that is not there',
      () => rm(folder, { recursive: true }),
      /there is no such folder/,
    ],
  ])('refuses %s in one line', async (_, prepare, line) => {
    await prepare();
    const { code, out, err } = await audit();
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(line);
    expect(err.trim().split('\n').length).toBeLessThanOrEqual(2);
  });

  it('reads dumps, and says what is not in them', async () => {
    const dump = { apiVersion: 'v1', kind: 'List', items: [] as unknown[] };
    const stdin = (items: unknown[]) => JSON.stringify({ ...dump, items });
    const { code, err } = await nodegap(['audit', '--file', '-'], { stdin: stdin([]) });
    expect(code).toBe(1);
    expect(err).toContain('the dump holds no daemonsets');
    const { out } = await nodegap(['audit', '--file', 'examples/dump.json']);
    expect(out).toContain('no nodepools in the dump: add them to what kubectl is asked for');
  });

  it('finds in examples/audit what its README says', async () => {
    const { code, out } = await nodegap([
      ...['audit', '--manifests', 'examples/audit', '--config', 'examples/nodegap.yaml'],
      ...['-o', 'json'],
    ]);
    expect(code).toBe(2);
    const found = JSON.parse(out).findings as { check: string; severity: string }[];
    expect(found.map(({ check, severity }) => `${severity} ${check}`)).toEqual([
      'error attacher-without-remover',
      'error startup-taint-permanent',
      'warning image-not-pinned',
      'warning no-readiness-probe',
      'warning no-startup-taint',
      'warning startup-taint-shuts-out',
      'warning update-empties-nodes',
      'note gap-taint-not-tolerated',
    ]);
  });

  it('finds no clash between the same DaemonSet of two environments, and says that it is there twice', async () => {
    const port = agent.replace(
      'image:',
      'ports: [{ containerPort: 9100, hostPort: 9100 }]\n          image:',
    );
    const pool = permanent.replace(
      'taints: [{ key: nodegap.dev/startup-agent, effect: NoSchedule }]',
      'taints: []',
    );
    await write('prod/all.yaml', `${port}---${pool}`);
    await write('stage/all.yaml', `${port}---${pool}`);
    const { out, err, code } = await audit();
    expect(out).not.toContain('host-port-clash');
    expect(err).toContain('written more than once');
    expect(err).toContain('DaemonSet kube-system/agent, NodePool general');
    expect(code).toBe(0);
  });

  it('says nothing of a mode that nobody told it', async () => {
    await write('a.yaml', `${agent}---${permanent.replace('taints:', 'startupTaints:')}`);
    const { out, code } = await audit();
    expect(out).not.toContain('error attacher-without-remover');
    expect(out.replace(/\s+/g, ' ')).toContain(
      'so that nobody knows whether nodegap may take it off',
    );
    expect(code).toBe(0);
  });

  it('says when it looks at no DaemonSet', async () => {
    await write('a.yaml', agent.replace('system-node-critical', 'other'));
    expect((await audit()).err).toContain('no DaemonSet is required (1 DaemonSet read');
  });

  it('warns of entries of requiredDaemonSets that choose nothing', async () => {
    await write('dump.yaml', agent);
    const config = `clusters: [{ name: a, region: eu-west-1 }]
requiredDaemonSets: [{ priorityClass: system-node-critical }, { name: kube-system/agnet }]
`;
    await write('nodegap.yaml', config);
    const { err } = await nodegap([
      'audit',
      ...['--file', join(folder, 'dump.yaml'), '--config', join(folder, 'nodegap.yaml')],
    ]);
    expect(err).toContain('did you mean kube-system/agent?');
  });
});
