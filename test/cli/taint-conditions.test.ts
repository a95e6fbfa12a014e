import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { condition, daemonSet, hour, minute, node, past, pod, second } from '../gap/build.ts';
import { nodegap } from './run.ts';

let folder = '';
afterAll(() => rm(folder, { recursive: true }));

const type = 'NodeAgentUnwell';
const key = 'nodegap.dev/condition-agent';
const installation = '111122223333/eu-west-1/nodegap';
const note = JSON.stringify({
  installation,
  taints: { agent: { effect: 'NoSchedule', since: past(hour), at: past(hour) } },
});

function nodeThat(
  name: string,
  status: string | undefined,
  age = hour,
  heard = 20 * second,
  tainted = false,
) {
  const said = { reason: 'AgentUnhealthy', lastHeartbeatTime: past(heard) };
  return {
    kind: 'Node',
    apiVersion: 'v1',
    ...node(name, {
      labels: { 'karpenter.sh/nodepool': 'general' },
      ...(tainted
        ? {
            taints: [{ key, effect: 'NoSchedule' }],
            metadata: { annotations: { 'nodegap.dev/condition-taints': note } },
          }
        : {}),
      conditions: [
        condition('Ready', 'True', 24 * hour, { lastHeartbeatTime: past(20 * second) }),
        ...(status === undefined ? [] : [condition(type, status, age, said)]),
      ],
    }),
  };
}

const nodes = [
  nodeThat('n1', 'True'),
  nodeThat('n2', 'True', 2 * hour),
  nodeThat('n3', 'True', 3 * hour),
  nodeThat('n4', 'True', minute),
  nodeThat('n5', 'False', hour, 20 * second, true),
  nodeThat('n6', 'True', hour, hour),
  nodeThat('n7', undefined),
  ...Array.from({ length: 8 }, (_, index) => nodeThat(`o${index}`, 'False')),
];
const rules = `conditionTaints: [{ name: agent, type: ${type}, status: True }]\n`;
const clusters = (mode: string) => `clusters: [{ name: prod, region: eu-west-1, mode: ${mode} }]\n`;
const files: Record<string, string> = {
  'nodegap.yaml': `${clusters('act')}${rules}`,
  'observe.yaml': `${clusters('observe')}${rules}`,
  'none.yaml': clusters('act'),
  'required.yaml': `${clusters('act')}${rules}requiredDaemonSets: [{ name: agent }]\n`,
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'taint-conditions-'));
  const listOf = (of: typeof nodes) => [
    ...of,
    { kind: 'DaemonSet', apiVersion: 'apps/v1', ...daemonSet() },
    ...of.map(({ metadata }) => ({ kind: 'Pod', apiVersion: 'v1', ...pod(metadata.name) })),
  ];
  const items = listOf(nodes);
  files['dump.json'] = JSON.stringify({ kind: 'List', items });
  files['well.json'] = JSON.stringify({ kind: 'List', items: listOf([nodeThat('o1', 'False')]) });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
});

const run = (config: string, ...more: string[]) =>
  nodegap([
    ...['taint-conditions', '--file', join(folder, 'dump.json')],
    ...['--config', join(folder, config), ...more],
  ]);
const dataOf = async (config: string, ...more: string[]) => {
  const { code, out } = await run(config, '-o', 'json', ...more);
  expect(code).toBe(0);
  return JSON.parse(out);
};

describe('nodegap taint-conditions', () => {
  it('counts what would be done and what keeps the rest from it', async () => {
    const { summary, taints } = await dataOf('nodegap.yaml');
    expect(
      taints.map((each: Record<string, string>) => [each.node, each.action, each.code]),
    ).toEqual([
      // The dump's 15 nodes may have 3 unhealthy, and n5 is one until its taint is off.
      ['n1', 'refused', 'breaker-open'],
      ['n2', 'add', 'condition-taint-added'],
      ['n3', 'add', 'condition-taint-added'],
      ['n4', 'wait', 'condition-too-young'],
      ['n5', 'remove', 'condition-taint-removed'],
      ['n6', 'keep', 'condition-stale'],
    ]);
    expect(summary).toMatchObject({
      nodes: 15,
      affected: 3,
      ...{ add: 2, remove: 1, keep: 1, wait: 1, refused: { 'breaker-open': 1 } },
    });
    const risks = summary.risks.map(({ kind, nodes: count }: { kind: string; nodes: number }) => [
      kind,
      count,
    ]);
    expect(risks).toEqual([
      ['condition-missing', 1],
      ['condition-not-believed', 1],
      ['more-than-the-breaker-allows', 4],
      ['more-than-the-breaker-allows', 4],
    ]);
  });

  it('tells everything within the width of a narrow terminal', async () => {
    const { out } = await nodegap(
      [
        ...['taint-conditions', '--file', join(folder, 'dump.json')],
        ...['--config', join(folder, 'observe.yaml')],
      ],
      { columns: 80, env: { NO_COLOR: '1' } },
    );
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(out).not.toContain('…');
    expect(out).toContain('1 node does not report a condition');
    expect(out).toContain('what is said of 1 node is not believed');
    expect(out).toMatch(/^n1 .* refuse\n {4}breaker-open: pool general: .*\n {6}\S/m);
  });

  it('names DaemonSets that the taint would keep out', async () => {
    const { summary, taints } = await dataOf('required.yaml');
    const first = taints.find(({ node: name }: { node: string }) => name === 'n1');
    expect(first).toMatchObject({ action: 'refused', code: 'condition-shuts-out' });
    expect(first.shutOut).toHaveLength(1);
    expect(summary.risks).toContainEqual(
      expect.objectContaining({ kind: 'shuts-out', name: 'agent', nodes: 3 }),
    );
  });

  it('takes taints without a rule off, and leaves those of another installation', async () => {
    expect((await dataOf('none.yaml')).taints).toMatchObject([
      { node: 'n5', action: 'remove', code: 'condition-taint-orphan' },
    ]);
    expect((await dataOf('none.yaml', '--installation', 'another')).taints).toMatchObject([
      { node: 'n5', action: 'keep', code: 'condition-taint-foreign' },
    ]);
  });

  it('says it in a table, with risks and a summary', async () => {
    const { code, out } = await run('nodegap.yaml');
    expect(code).toBe(0);
    expect(out).toMatch(/^NODE +TAINT +ACTION +REASON +WHY$/m);
    expect(out).toMatch(
      /^n2 +nodegap\.dev\/condition-agent +add +condition-taint-added +NodeAgentUnwell=True/m,
    );
    expect(out).toMatch(/^n4 .* until /m);
    expect(out).toContain('risk in agent: 1 node does not report a condition NodeAgentUnwell');
    expect(out.split('\n').slice(-4)).toEqual([
      '3 of 15 nodes would change: 2 taints added, 1 removed',
      '1 waiting, 1 left as it is, 1 refused (breaker-open 1)',
      'Nothing was written.',
      '',
    ]);
    expect((await run('observe.yaml')).out).toContain(
      'mode observe: nodegap writes nothing either',
    );
  });

  it('says what to do when there is nothing to judge by', async () => {
    const { code, err } = await nodegap([
      ...['taint-conditions', '--file', join(folder, 'well.json')],
      ...['--config', join(folder, 'none.yaml')],
    ]);
    expect(code).toBe(1);
    expect(err).toContain('there is no entry of conditionTaints, and no node bears such a taint');
  });
});
