import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { KubernetesError } from '../../lib/errors.ts';
import type { Evidence } from '../../lib/gap/model.ts';
import { readDump } from '../../lib/kubernetes/dump.ts';
import type { KubeconfigConnection, KubeconfigOptions } from '../../lib/kubernetes/kubeconfig.ts';
import type { ScanReport } from '../../lib/report/scan-report.ts';
import { dumpOf, nodegap, noon, nothingThere } from './run.ts';

const fixtures = dirname(dirname(dumpOf('C01')));

interface WaitingPod {
  kind: string;
  status?: { containerStatuses?: { state: { waiting?: { message?: string } } }[] };
}

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodegap-cli-'));
});

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const cluster = 'clusters: [{name: prod, region: eu-west-1}]\n';

const isWhole = ({ object, field, value }: Evidence) => object && field && value;

describe('nodegap scan', () => {
  it('shows gaps and what would be done, and exits 2', async () => {
    const { code, out, err } = await nodegap(['scan', '--file', dumpOf('C30'), '--all-daemonsets']);
    expect(out).toMatch(
      /^n2 +logging\/log-router +sandbox +node +39m +would isolate → drain → replace$/m,
    );
    expect(out).toContain('nodegap would act on 1 node\n');
    expect(out).toContain(`why: nodegap explain n2 --file ${dumpOf('C30')}\n`);
    expect(err).toBe('');
    expect(code).toBe(2);
  });

  it('exits 0 when there is nothing', async () => {
    const { code, out } = await nodegap(['scan', '--file', dumpOf('C01')]);
    expect(out).toBe('✓ no gaps (3 nodes, 2 pairs of node and DaemonSet looked at)\n');
    expect(code).toBe(0);
  });

  it('exits 0 on gaps that are not acted on, and 2 with --strict', async () => {
    const args = ['scan', '--file', dumpOf('C33'), '--all-daemonsets'];
    const plain = await nodegap(args);
    expect(plain.out).toContain('alert only, the DaemonSet is at fault');
    expect(plain.code).toBe(0);
    expect((await nodegap([...args, '--strict'])).code).toBe(2);
  });

  it('exits 0 when nothing can be told, and 2 with --strict', async () => {
    const args = ['scan', '--file', dumpOf('C01'), '--now', '2026-11-30T12:00:00Z'];
    const plain = await nodegap(args);
    expect(plain.out).toContain('? nothing can be said of 3 of 3 nodes (');
    expect(plain.code).toBe(0);
    expect((await nodegap([...args, '--strict'])).code).toBe(2);
  });

  it.each(readdirSync(fixtures))('finds what %s expects, as JSON', async (fixture) => {
    const expected = JSON.parse(readFileSync(join(fixtures, fixture, 'expect.json'), 'utf8')) as {
      now: string;
      gaps: { node: string; daemonSet: string; cause: string }[];
    };
    const args = ['scan', '--file', dumpOf(fixture), '--all-daemonsets', '-o', 'json'];
    const { out, code } = await nodegap([...args, '--now', expected.now]);
    const report = JSON.parse(out) as ScanReport;
    const found = report.gaps.map(({ node, daemonSet, cause }) => ({ node, daemonSet, cause }));
    const wanted = expected.gaps
      .map(({ node, daemonSet, cause }) => ({ node, daemonSet, cause }))
      .sort((a, b) => `${a.node} ${a.daemonSet}`.localeCompare(`${b.node} ${b.daemonSet}`));
    expect(found).toEqual(wanted);
    const keys = ['cluster', 'now', 'gaps', 'unknown', 'summary', 'crossChecks'];
    expect(Object.keys(report)).toEqual(keys);
    for (const { evidence, blameEvidence } of report.gaps) {
      expect(evidence.filter(isWhole)).toHaveLength(evidence.length);
      expect(blameEvidence.filter(isWhole)).toHaveLength(blameEvidence.length);
      expect(evidence.some(({ wouldChange }) => wouldChange)).toBe(true);
      expect(blameEvidence).not.toEqual([]);
    }
    const daemonSets = report.crossChecks?.map(({ daemonSet }) => daemonSet) ?? [];
    expect(new Set(daemonSets).size).toBeGreaterThan(0);
    expect(report.summary.gaps).toBe(report.gaps.length);
    expect(code).toBe(report.summary.actionable > 0 ? 2 : 0);
  });

  it('prints whole messages as JSON, up to 1,024 characters', async () => {
    const text = readFileSync(dumpOf('C34'), 'utf8');
    const messageWith = async (said: string) => {
      const list = JSON.parse(text) as { items: WaitingPod[] };
      for (const { status } of list.items) {
        for (const { state } of status?.containerStatuses ?? []) {
          if (state.waiting !== undefined) state.waiting.message = said;
        }
      }
      const { out } = await nodegap(['scan', '--file', '-', '-o', 'json'], {
        stdin: JSON.stringify({
          ...list,
          items: list.items.filter(({ kind }) => kind !== 'Event'),
        }),
      });
      return (JSON.parse(out) as ScanReport).gaps[0]?.message ?? '';
    };
    expect(await messageWith('x'.repeat(900))).toMatch(/: x{900} \(image /);
    expect(await messageWith('x'.repeat(2000))).toMatch(/: x{1023}… \(image /);
  });

  it('says the same in YAML as in JSON', async () => {
    const args = ['scan', '--file', dumpOf('C34'), '-o'];
    const json: unknown = JSON.parse((await nodegap([...args, 'json'])).out);
    expect(parse((await nodegap([...args, 'yaml'])).out)).toEqual(json);
  });

  it('looks only at required DaemonSets unless told otherwise', async () => {
    const optional = await nodegap(['scan', '--file', dumpOf('C30'), '-o', 'json'], {});
    const config = await file(
      'one.yaml',
      `${cluster}requiredDaemonSets: [{name: logging/log-router, action: isolate}]`,
    );
    const named = await nodegap(['scan', '--file', dumpOf('C30'), '--config', config]);
    expect(named.out).toMatch(/log-router +sandbox +node +39m +would isolate$/m);
    const ceiling = await file(
      'alert.yaml',
      `${cluster}requiredDaemonSets: [{name: log-router, action: alert}]`,
    );
    const alert = await nodegap(['scan', '--file', dumpOf('C30'), '--config', ceiling]);
    expect(alert.out).toContain('alert only, as configured');
    expect(alert.code).toBe(0);
    expect((JSON.parse(optional.out) as ScanReport).cluster).toBe('cluster');
  });

  it('names the cluster after the only one of the configuration', async () => {
    const config = await file('prod.yaml', cluster);
    const { out } = await nodegap([
      'scan',
      '--file',
      dumpOf('C34'),
      '--config',
      config,
      '-o',
      'json',
    ]);
    expect((JSON.parse(out) as ScanReport).cluster).toBe('prod');
  });

  it('warns when the configuration has no entry for the cluster', async () => {
    const config = await file(
      'two.yaml',
      'clusters: [{name: a, region: eu-west-1}, {name: b, region: eu-west-1}]\n',
    );
    const warning = `warning: no cluster of ${config} is called "cluster" (it has: a, b); its mode is taken as observe\n`;
    const args = ['--file', dumpOf('C34'), '--config', config];
    expect((await nodegap(['scan', ...args])).err).toBe(warning);
    expect((await nodegap(['explain', 'n7', ...args])).err).toBe(warning);
  });

  it('never acts at a limit of 0 percent', async () => {
    const config = await file('zero.yaml', `${cluster}breaker: {maxUnhealthyPercent: 0}`);
    const { out, code } = await nodegap(['scan', '--file', dumpOf('C34'), '--config', config]);
    expect(out).toContain('hold, too much is unhealthy');
    expect(code).toBe(0);
  });

  it('warns of an entry that matches nothing, with its line', async () => {
    const config = await file(
      'typo.yaml',
      `${cluster}requiredDaemonSets:\n  - priorityClass: system-node-critical\n  - name: secret-agent\n`,
    );
    const { err, code } = await nodegap(['scan', '--file', dumpOf('C34'), '--config', config]);
    expect(err).toBe(
      `warning: ${config}:4:5: requiredDaemonSets[1]: "name: secret-agent" matches no DaemonSet of the cluster; did you mean secrets-agent?\n`,
    );
    expect(code).toBe(2);
  });

  it('warns when nothing is required', async () => {
    const list = JSON.parse(readFileSync(dumpOf('C34'), 'utf8')) as {
      items: { kind: string; spec: { template: { spec: { priorityClassName?: string } } } }[];
    };
    for (const item of list.items) {
      if (item.kind === 'DaemonSet') delete item.spec.template.spec.priorityClassName;
    }
    const stdin = JSON.stringify(list);
    const { err, out } = await nodegap(['scan', '--file', '-'], { stdin });
    expect(err).toContain('warning: no DaemonSet is required (none has the priority class');
    expect(out).toContain('no gaps');
    const all = await nodegap(['scan', '--file', '-', '--all-daemonsets'], { stdin });
    expect(all.err).toBe('');
    expect(all.out).toContain('not required');
  });

  it('reads a dump in pieces and from standard input', async () => {
    const { items } = JSON.parse(readFileSync(dumpOf('C34'), 'utf8')) as {
      items: { kind: string }[];
    };
    const listOf = (kinds: RegExp) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: items.filter(({ kind }) => kinds.test(kind)),
      });
    const nodes = await file('nodes.json', listOf(/Node/));
    const args = ['scan', '--file', nodes, '--file', '-', '-o', 'json'];
    const { out } = await nodegap(args, { stdin: listOf(/^(?!Node)/) });
    expect((JSON.parse(out) as ScanReport).gaps).toHaveLength(1);
    const whole = await nodegap(['scan', '--file', '-', '-o', 'json'], {
      stdin: readFileSync(dumpOf('C34'), 'utf8'),
    });
    expect((JSON.parse(whole.out) as ScanReport).cluster).toBe('stdin');
    expect((JSON.parse(whole.out) as ScanReport).gaps).toEqual(
      (JSON.parse(out) as ScanReport).gaps,
    );
  });

  it('refuses a dump without pods: every DaemonSet would seem to be missing', async () => {
    const { items } = JSON.parse(readFileSync(dumpOf('C34'), 'utf8')) as {
      items: { kind: string }[];
    };
    const stdin = JSON.stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: items.filter(({ kind }) => kind !== 'Pod'),
    });
    const { code, err, out } = await nodegap(['scan', '--file', '-'], { stdin });
    expect(err).toMatch(/^error: the dump holds no pods: .*\nhint: kubectl get nodes,ds,pods/);
    expect(out).toBe('');
    expect(code).toBe(1);
  });

  it('judges an old dump as of its own time, says so, and obeys --now', async () => {
    const at = '2027-01-30T12:00:00Z';
    const late = await nodegap(['scan', '--file', dumpOf('C34')], { at });
    expect(late.err).toBe(
      'note: judged as of 2026-11-29T11:59:40Z, the newest time in the dump; another moment: --now TIME\n',
    );
    expect(late.code).toBe(2);
    const told = await nodegap(['scan', '--file', dumpOf('C34'), '--now', noon], { at });
    expect(told.err).toBe('');
    expect(told.code).toBe(2);
  });

  it('warns of a moment before what the dump tells', async () => {
    const args = ['scan', '--file', dumpOf('C34'), '--now', '2026-11-29T11:00:00Z'];
    expect((await nodegap(args)).err).toBe(
      'warning: --now lies before the newest time in the dump (2026-11-29T11:59:40Z)\n',
    );
  });

  it('colours on a terminal, and not with NO_COLOR', async () => {
    const esc = String.fromCharCode(27);
    const args = ['scan', '--file', dumpOf('C34')];
    expect((await nodegap(args)).out).not.toContain(esc);
    expect((await nodegap(args, { columns: 120 })).out).toContain(`${esc}[31mimage-pull`);
    const plain = await nodegap(args, { columns: 120, env: { NO_COLOR: '1' } });
    expect(plain.out).not.toContain(esc);
  });

  it('calls itself as it was called', async () => {
    const { out } = await nodegap(['scan', '--file', dumpOf('C34')], {
      programName: 'kubectl nodegap',
    });
    expect(out).toContain(`why: kubectl nodegap explain n7 --file ${dumpOf('C34')}\n`);
    const throughNpm = await nodegap(['scan', '--file', '-'], {
      stdin: readFileSync(dumpOf('C34'), 'utf8'),
      env: { npm_lifecycle_event: 'nodegap' },
    });
    expect(throughNpm.out).toContain('why: npm run -s nodegap -- explain n7 --file DUMP\n');
  });
});

describe('nodegap scan of a live cluster', () => {
  const { facts } = readDump(JSON.parse(readFileSync(dumpOf('C34'), 'utf8')));

  function connection(overrides: Partial<KubeconfigConnection['reader']> = {}) {
    const asked: KubeconfigOptions[] = [];
    const reader = {
      listNodes: async () => facts.nodes,
      listDaemonSets: async () => facts.daemonSets,
      listDaemonSetPods: async () => facts.pods,
      listEventsOf: async () => [],
      listNodeClaims: async () => undefined,
      ...overrides,
    };
    const connect = async (options: KubeconfigOptions) => {
      asked.push(options);
      return {
        name: 'arn:aws:eks:eu-west-1:1:cluster/prod',
        reader,
        transport: nothingThere,
      } as unknown as KubeconfigConnection;
    };
    return { asked, connect };
  }

  it('reads the cluster of the context and names it as the configuration does', async () => {
    const { asked, connect } = connection();
    const config = await file(
      'live.yaml',
      `${cluster.trim().slice(0, -1)}, {name: b, region: eu-west-1}]\n`,
    );
    const args = [
      'scan',
      '--context',
      'prod',
      '--kubeconfig',
      'k',
      '--config',
      config,
      '-o',
      'json',
    ];
    const { out, code } = await nodegap(args, { connect });
    expect(asked).toEqual([
      expect.objectContaining({ context: 'prod', kubeconfigPath: 'k', userAgent: 'nodegap/0.1.0' }),
    ]);
    const report = JSON.parse(out) as ScanReport;
    expect(report).toMatchObject({ cluster: 'prod', now: noon });
    expect(report.gaps).toHaveLength(1);
    expect(code).toBe(2);
  });

  it('warns when the only entry of the configuration is of another cluster', async () => {
    const { connect } = connection();
    const config = await file('other.yaml', 'clusters: [{name: other, region: eu-west-1}]\n');
    const { err } = await nodegap(['scan', '--config', config], { connect });
    expect(err).toBe(
      `warning: no cluster of ${config} is called "arn:aws:eks:eu-west-1:1:cluster/prod" (it has: other); its mode is taken as observe\n`,
    );
  });

  it('fails when a list cannot be read: no read is no gap', async () => {
    const { connect } = connection({
      async listDaemonSetPods() {
        throw new KubernetesError('forbidden', 'pods may not be listed', { hint: 'ask for it' });
      },
    });
    const { out, err, code } = await nodegap(['scan'], { connect });
    expect({ out, err, code }).toEqual({
      out: '',
      err: 'error: pods may not be listed\nhint: ask for it\n',
      code: 1,
    });
  });
});
