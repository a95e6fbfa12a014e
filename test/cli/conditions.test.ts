/** Node conditions as faults, wherever the command line shows faults. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { condition, daemonSet, day, hour, node, past, pod, second } from '../gap/build.ts';
import { nodegap } from './run.ts';

let dump = '';
let config = '';
let none = '';

function nodeThat(name: string, status: string, reason: string, heard = 20 * second) {
  const said = { reason, message: 'task docker:1 blocked', lastHeartbeatTime: past(heard) };
  return {
    kind: 'Node',
    apiVersion: 'v1',
    ...node(name, {
      labels: { 'karpenter.sh/nodepool': 'general' },
      conditions: [
        condition('Ready', 'True', 3 * day, { lastHeartbeatTime: past(20 * second) }),
        condition('KernelDeadlock', status, hour, said),
      ],
    }),
  };
}

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'nodegap-conditions-'));
  const items = [
    nodeThat('n1', 'True', 'DockerHung'),
    nodeThat('n2', 'False', 'KernelHasNoDeadlock'),
    nodeThat('n3', 'False', 'KernelHasNoDeadlock'),
    nodeThat('n4', 'False', 'KernelHasNoDeadlock'),
    nodeThat('n5', 'True', 'DockerHung', hour),
  ];
  const path = (name: string) => join(folder, name);
  [dump, config, none] = [path('dump.json'), path('nodegap.yaml'), path('none.yaml')];
  const rest = [
    { kind: 'DaemonSet', apiVersion: 'apps/v1', ...daemonSet() },
    ...items.map(({ metadata }) => ({ kind: 'Pod', apiVersion: 'v1', ...pod(metadata.name) })),
  ];
  await writeFile(dump, JSON.stringify({ kind: 'List', items: [...items, ...rest] }));
  const cluster =
    'clusters: [{ name: prod, region: eu-west-1 }]\nrequiredDaemonSets: [{ name: agent }]\n';
  await writeFile(none, cluster);
  await writeFile(config, `${cluster}conditions: [{ type: KernelDeadlock, status: True }]\n`);
});

const run = (command: string[], file = config) =>
  nodegap([...command, '--file', dump, '--config', file]);

describe('a node condition that is a fault', () => {
  it('is a row of the table of nodegap scan, and exits 2', async () => {
    const { code, out, err } = await run(['scan']);
    expect(err).toBe('');
    expect(out).toMatch(
      /^n1 +condition KernelDeadlock=True \(DockerHung\) +node-condition +node +60m +would isolate$/m,
    );
    expect(out).toMatch(/^n5 +condition KernelDeadlock +condition-stale +condition Kernel/m);
    expect(out).toContain('1 condition on 1 node: 1 node-condition (5 nodes');
    expect(out).toContain('nodegap would act on 1 node\n');
    expect(code).toBe(2);
  });

  it('is none without configuration', async () => {
    const { code, out } = await run(['scan', '--strict'], none);
    expect(out).toContain('no gaps');
    expect(code).toBe(0);
  });

  it('is an object of nodegap scan -o json', async () => {
    const report = JSON.parse((await run(['scan', '-o', 'json'])).out);
    expect(report.conditionFaults).toMatchObject([
      {
        node: 'n1',
        condition: { type: 'KernelDeadlock', status: 'True', reason: 'DockerHung' },
        blame: 'node',
        actionable: true,
        since: past(hour),
        ceiling: 'isolate',
      },
    ]);
    expect(report.unknown).toMatchObject([{ node: 'n5', condition: 'KernelDeadlock' }]);
    expect(report.summary).toMatchObject({
      gaps: 0,
      actionable: 0,
      conditionFaults: { found: 1, actionable: 1 },
    });
    const without = JSON.parse((await run(['scan', '-o', 'json'], none)).out);
    expect(without).not.toHaveProperty('conditionFaults');
  });

  it('is a table of nodegap scan -o html, and no whole node is unknown for one condition', async () => {
    const { out } = await run(['scan', '-o', 'html']);
    expect(out).toContain('<h2 id="conditions-title">Node conditions</h2>');
    expect(out).toContain('<td>condition KernelDeadlock=True (DockerHung)</td>');
    expect(out).toContain('nodegap would act on 1 node');
    expect(out).toContain('for 1 condition');
    expect((await run(['scan', '-o', 'html'], none)).out).not.toContain('conditions-title');
  });

  it('is explained: evidence, blame, times and what would be done', async () => {
    const { out } = await run(['explain', 'n1']);
    expect(out).toContain('condition KernelDeadlock=True (DockerHung): fault');
    expect(out).toContain('status.conditions[KernelDeadlock].reason = DockerHung');
    expect(out).toContain('node: 1 of 4 nodes have condition KernelDeadlock=True');
    expect(out).toContain('the configuration allows no more for this condition');
    const { conditionFaults } = JSON.parse((await run(['explain', 'n1', '-o', 'json'])).out);
    expect(conditionFaults).toMatchObject([{ node: 'n1', action: { would: 'act' } }]);
  });

  it('is said to be unknown on a node that is known otherwise', async () => {
    const { out } = await run(['explain', 'n5']);
    expect(out).toContain('node n5: Ready');
    expect(out).toMatch(/unknown +condition-stale: condition KernelDeadlock=True was last/);
  });
});
