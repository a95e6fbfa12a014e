import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { KubernetesError } from '../../lib/errors.ts';
import { readDump } from '../../lib/kubernetes/dump.ts';
import type { KubeconfigConnection } from '../../lib/kubernetes/kubeconfig.ts';
import type { ExplainReport } from '../../lib/report/explain-report.ts';
import { dumpOf, nodegap, noon, nothingThere } from './run.ts';

async function explain(fixture: string, ...args: string[]): Promise<string> {
  const { out, err, code } = await nodegap(['explain', ...args, '--file', dumpOf(fixture)]);
  expect({ err, code }).toEqual({ err: '', code: 0 });
  return out;
}

describe('nodegap explain', () => {
  it('says of a gap why it is one, whose fault, and what would be done', async () => {
    const text = await explain('C30', 'n2');
    expect(text).toMatch(
      /^node n2: Ready · 3d old · pool general · zone eu-west-1a · karpenter · NodeClaim /,
    );
    for (const part of [
      /^✗ logging\/log-router: sandbox for 39m, blame: node$/m,
      /should run +yes: it has no node selector: every node is meant/,
      /pod +log-router-\w+: Pending, not Ready, 40m old, revision \w+/,
      /cause +sandbox: /,
      /blame +node: /,
      /evidence +event on pod logging\/log-router-\w+\n {20}FailedCreatePodSandBox = Failed to/,
      /\n {22}changes when the kubelet gets past this step\n/,
      /blame rests on +daemonset logging\/log-router\n {20}metadata.labels\[controller-revision/,
      /since +2026-11-29T11:20:10Z\n/,
      /grace +ended at 2026-11-29T11:25:00Z\n/,
      /confirmed +from 2026-11-29T11:26:00Z on, by 2 scans and 1m past its grace\n/,
      /1\. isolate: cordon; no taint yet/,
      /2\. wait: hold-down 10m; healthy for 2m undoes it all/,
      /mode observe: nothing is written/,
      /look further +kubectl -n logging describe pod log-router-/,
      /timings +scan every 1m · grace node 10m, pod 5m · confirmation 2 scans and 1m/,
      /limits +breaker 20 % unhealthy/,
      /asks +a person, when a drain is blocked/,
    ]) {
      expect(text).toMatch(part);
    }
  });

  it('says of each DaemonSet that is not meant for the node which taint keeps it out', async () => {
    const text = await explain('C01', 'n3-gpu');
    expect(text).toMatch(/^- monitoring\/node-exporter: not meant for this node$/m);
    expect(text).toMatch(/should run +no: it does not tolerate taint dedicated=gpu:NoSchedule/);
  });

  it('says that a DaemonSet is fine and which term of the affinity matches', async () => {
    const text = await explain('C04', 'n1');
    expect(text).toMatch(/^✓ \S+: Ready$/m);
    expect(text).toMatch(/should run +yes: node affinity matches: app In \[fluent\]/);
  });

  it('says why nothing is done, with the code', async () => {
    const text = await explain('C33', 'n1', 'kube-proxy');
    expect(text).toMatch(/nodegap would +nothing \(blame-daemonset\): /);
    const young = await explain('C44', 'n2');
    expect(young).toMatch(/nodegap would +nothing yet \(starting\): /);
  });

  it('looks past a startup taint and names it', async () => {
    const text = await explain('C46', 'n2', 'logging/fluent-bit');
    expect(text).toMatch(/looked past a startup taint: node\.cilium\.io\/agent-not-ready/);
    // Cause and blame rest on the same taint, which is said once.
    expect(text.match(/spec\.taints\[0\] = /g)).toHaveLength(1);
    expect(text).not.toContain('blame rests on');
  });

  it('shows only the DaemonSet that was asked for', async () => {
    const text = await explain('C16', 'n1', 'edge/lb-agent');
    expect(text).toContain('edge/lb-agent');
    expect(text).not.toContain('kube-system/kube-proxy: ');
  });

  it('plans the drain: who is evicted, blocked, asked about, waited for, left (C112)', async () => {
    const text = await explain('C71', 'n2');
    const plan = text.slice(text.indexOf('a drain of this node would now'));
    expect(plan).toMatch(
      /evict 3 pods\n {4}shop\/web-7f6c9-aaaaa\n {4}shop\/cache-0\n {4}shop\/scratch-66d5f-qq2wz \(.*emptyDir/,
    );
    expect(plan).toMatch(
      /evict 1 orphan\n {4}legacy\/oldds-x7k2p \(its DaemonSet oldds does not exist/,
    );
    expect(plan).toMatch(/blocked by budget: 1\n {4}shop\/api-59c8d-zzz9x \(.*shop\/api allows 0/);
    expect(plan).toMatch(/ask a person about 1\n {4}shop\/naked \(has no controller/);
    expect(plan).toMatch(/wait for 1 already ending\n {4}shop\/leaving-6b8c-2mm4s/);
    expect(plan).toMatch(/leave 3 pods\n {4}kube-system\/node-agent-hxv8l \(of a DaemonSet\)/);
  });

  it('says whom nodegap asks about this node, and by which entry of the configuration', async () => {
    const yaml =
      'clusters: [{ name: a, region: eu-west-1 }]\napprovals: { pools: { general: always } }\n';
    const argv = ['explain', 'n2', '--file', dumpOf('C30'), '--config', '-'];
    const { out } = await nodegap(argv, { stdin: yaml });
    expect(out).toMatch(/asks +a person, before every drain .* \(approvals\.pools\.general\)/);
    expect(out).toMatch(/\d\. ask: a person, up to 12h/);
  });

  it('says in the step of the drain, and in the scan of a dump, that a person is asked', async () => {
    expect(await explain('C71', 'n2')).toMatch(/\d\. drain: .*; asks a person: 1 pod$/m);
    const { out } = await nodegap(['scan', '--file', dumpOf('C71'), '--all-daemonsets']);
    expect(out).toContain('restart pod → drain (asks a person: 1 pod) → replace');
  });

  it('says that a node is left out', async () => {
    const list = JSON.parse(readFileSync(dumpOf('C30'), 'utf8')) as {
      items: { kind: string; metadata: { name: string; deletionTimestamp?: string } }[];
    };
    const n2 = list.items.find(({ kind, metadata }) => kind === 'Node' && metadata.name === 'n2');
    if (n2 !== undefined) n2.metadata.deletionTimestamp = '2026-11-29T11:59:00Z';
    const { out } = await nodegap(['explain', 'n2', '--file', '-'], {
      stdin: JSON.stringify(list),
    });
    expect(out).toMatch(/left out +n2 is being deleted since .*; nothing here is a gap/);
    expect(out).not.toContain('a drain of this node');
  });

  it('says of a silent node that nothing can be told', async () => {
    const later = ['--now', '2026-11-29T12:20:00Z'];
    const { out } = await nodegap(['explain', 'n2', '--file', dumpOf('C30'), ...later]);
    expect(out).toMatch(/unknown +heartbeat-stale: /);
    expect(out).toMatch(/^\? logging\/log-router: cannot be told$/m);
  });

  it('folds at the width of the terminal, commands excepted', async () => {
    const { out } = await nodegap(['explain', 'n2', '--file', dumpOf('C30')], {
      columns: 80,
      env: { NO_COLOR: '1' },
    });
    const folded = out.split('\n').filter((line) => /^ {2}\S| {18}/.test(line));
    const long = folded.filter((line) => line.length > 82 && !line.includes('kubectl'));
    expect(long).toEqual([]);
  });

  it.each([
    [
      'web-1',
      undefined,
      'there is no node "web-1" in cluster',
      'none of its 2 nodes has a name like that; kubectl get nodes lists them',
    ],
    ['n', undefined, 'there is no node "n" in cluster', 'did you mean n1, n2?'],
    [
      'n1',
      'log-ruoter',
      'there is no DaemonSet "log-ruoter" in cluster',
      'did you mean log-router?',
    ],
    ['n1', 'a/b', 'there is no DaemonSet "a/b" in cluster', 'there are: logging/log-router'],
  ])('knows no %s %s', async (node, daemonSet, message, hint) => {
    const args = ['explain', node, ...(daemonSet === undefined ? [] : [daemonSet])];
    const { code, out, err } = await nodegap([...args, '--file', dumpOf('C30')]);
    expect({ code, out, err }).toEqual({
      code: 1,
      out: '',
      err: `error: ${message}\nhint: ${hint}\n`,
    });
  });

  it.each([
    [
      'ip-',
      '25 nodes begin so: ip-10-0-15-6.ec2.internal, ip-10-0-16-31.ec2.internal, ip-10-0-18-249.ec2.internal, ip-10-0-19-92.ec2.internal, ip-10-0-21-97.ec2.internal, …',
    ],
    [
      'ip-10-0-1',
      'did you mean ip-10-0-15-6.ec2.internal, ip-10-0-16-31.ec2.internal, ip-10-0-18-249.ec2.internal, ip-10-0-19-92.ec2.internal?',
    ],
    ['ip-10-0-18-249', 'did you mean ip-10-0-18-249.ec2.internal?'],
    ['ip-10-0-18-294.ec2.internal', 'did you mean ip-10-0-18-249.ec2.internal?'],
  ])('suggests at most five nodes for %s, and takes none silently', async (word, hint) => {
    const dump = join(import.meta.dirname, '../../examples/dump.json');
    const { code, out, err } = await nodegap(['explain', word, '--file', dump], {
      at: '2026-11-24T12:00:00Z',
    });
    expect({ code, out, err }).toEqual({
      code: 1,
      out: '',
      err: `error: there is no node "${word}" in dump\nhint: ${hint}\n`,
    });
  });

  it('puts the context into the commands, and does without pods it may not read', async () => {
    const { facts } = readDump(JSON.parse(readFileSync(dumpOf('C30'), 'utf8')));
    const reader = {
      listNodes: async () => facts.nodes,
      listDaemonSets: async () => facts.daemonSets,
      listDaemonSetPods: async () => facts.pods,
      listEventsOf: async () => [],
      listNodeClaims: async () => [],
      async listPodsOnNode() {
        throw new KubernetesError('forbidden', 'pods may not be listed');
      },
    };
    const connect = async () =>
      ({ name: 'my ctx', reader, transport: nothingThere }) as unknown as KubeconfigConnection;
    const { out, code } = await nodegap(['explain', 'n2', '--context', 'my ctx'], { connect });
    expect(out).toContain("kubectl --context 'my ctx' -n logging describe pod");
    expect(out).toMatch(/a drain of this node would now\n +unknown +pods may not be listed/);
    expect(code).toBe(0);
  });
});

describe('nodegap explain -o json', () => {
  async function explained(fixture: string, ...args: string[]): Promise<ExplainReport> {
    return JSON.parse(await explain(fixture, ...args, '-o', 'json')) as ExplainReport;
  }

  it('holds all that the text shows of a gap', async () => {
    const report = await explained('C30', 'n2');
    expect(Object.keys(report)).toEqual([
      'cluster',
      'now',
      'mode',
      'node',
      'unknown',
      'daemonSets',
      'drain',
      'settings',
    ]);
    expect(report).toMatchObject({
      cluster: 'cluster',
      now: noon,
      mode: 'observe',
      node: {
        name: 'n2',
        kind: 'karpenter',
        nodeClaim: 'general-nm8nm',
        pool: 'general',
        zone: 'eu-west-1a',
        createdAt: '2026-11-26T12:00:00Z',
        state: 'ready',
        cordoned: false,
        taints: [],
      },
      unknown: [],
      drain: { groups: [{ what: 'leave', title: 'leave 1 pod' }] },
      settings: {
        timings: { nodeGrace: 600, confirmation: 60 },
        breaker: { maxUnhealthyPercent: 20 },
        approvals: { policy: 'drain-blocked' },
        startupTaints: expect.arrayContaining(['node.cilium.io/agent-not-ready']),
      },
    });
    const [pair] = report.daemonSets;
    expect(pair).toMatchObject({
      daemonSet: 'logging/log-router',
      verdict: 'gap',
      required: { ceiling: 'replace', chosenBy: 'priorityClass: system-node-critical' },
      pods: [{ phase: 'Pending', ready: false, scheduled: true, terminating: false, restarts: 0 }],
      gap: {
        cause: 'sandbox',
        blame: 'node',
        since: '2026-11-29T11:20:10Z',
        graceEndsAt: '2026-11-29T11:25:00Z',
        confirmedFrom: '2026-11-29T11:26:00Z',
        pastGrace: true,
        confirmed: true,
      },
      action: { would: 'act', canary: false },
      crossCheck: { verdict: 'agrees', computed: 2, desired: 2 },
      lookFurther: [expect.stringMatching(/^kubectl -n logging describe pod /), expect.anything()],
    });
    expect(pair?.action?.steps.map(({ name }) => name)).toEqual([
      'isolate',
      'wait',
      'taint',
      'drain',
      'replace',
      'verify',
    ]);
  });

  it('says the same as YAML', async () => {
    const yaml: unknown = parse(await explain('C71', 'n2', '-o', 'yaml'));
    expect(yaml).toEqual(await explained('C71', 'n2'));
  });

  it('says why nothing is done, and what passes by itself', async () => {
    const { daemonSets } = await explained('C33', 'n1', 'kube-proxy');
    expect(daemonSets).toMatchObject([
      { action: { would: 'nothing', code: 'blame-daemonset', steps: [] } },
    ]);
    const young = await explained('C44', 'n2');
    expect(young.daemonSets).toContainEqual(
      expect.objectContaining({
        action: { would: 'wait', code: 'starting', message: expect.any(String), steps: [] },
      }),
    );
  });

  it('leaves out what is not there', async () => {
    const { daemonSets, node } = await explained('C01', 'n3-gpu');
    expect(node.taints).toEqual(['dedicated=gpu:NoSchedule']);
    for (const key of ['gap', 'action', 'reason']) expect(daemonSets[0]).not.toHaveProperty(key);
    for (const key of ['leftOut', 'isolation']) expect(node).not.toHaveProperty(key);
  });

  it('says what nodegap did to an isolated node', async () => {
    const mark = {
      installation: 'i',
      execution: 'arn:x',
      episode: 1,
      attempt: 2,
      cordoned: true,
      tainted: false,
      at: '2026-11-29T11:30:00Z',
    };
    const list = JSON.parse(readFileSync(dumpOf('C30'), 'utf8')) as {
      items: { kind: string; metadata: { name: string; annotations?: object }; spec: object }[];
    };
    for (const item of list.items) {
      if (item.kind !== 'Node' || item.metadata.name !== 'n2') continue;
      item.metadata.annotations = { 'nodegap.dev/isolation': JSON.stringify(mark) };
      item.spec = { ...item.spec, unschedulable: true };
    }
    const stdin = JSON.stringify(list);
    const { out } = await nodegap(['explain', 'n2', '--file', '-', '-o', 'json'], { stdin });
    const { node } = JSON.parse(out) as ExplainReport;
    expect(node).toMatchObject({ cordoned: true, isolation: mark });
  });

  it('puts the status that counts other nodes into a note, which is no verdict', async () => {
    const { daemonSets, unknown } = await explained('C03', 'n1');
    expect(unknown).toEqual([]);
    expect(daemonSets).toMatchObject([
      { verdict: 'ok', crossCheck: { verdict: 'disagrees', computed: 3, desired: 2 } },
    ]);
    const text = await explain('C03', 'n1');
    expect(text).toMatch(/note +nodegap counts 3 nodes .* says 2; the status may be old/);
    const strict = await nodegap(['scan', '--strict', '--file', dumpOf('C03')]);
    expect(strict.code).toBe(0);
  });

  it('knows no other format', async () => {
    const args = ['explain', 'n2', '--file', dumpOf('C30'), '-o', 'html'];
    const { code, err } = await nodegap(args);
    expect(code).toBe(1);
    expect(err).toContain('error: -o: "html" is not one of text, json, yaml');
  });
});
