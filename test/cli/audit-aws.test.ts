/** Node groups and launch templates, which the command line asks AWS about. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Io } from '../../cli/io.ts';
import { NodegapError } from '../../lib/errors.ts';
import type { NodeGroupReads } from '../../lib/prevention/sources/node-groups.ts';
import { nodegap, nothingThere } from './run.ts';

let config: string;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'nodegap-audit-aws-'));
  config = join(folder, 'nodegap.yaml');
  await writeFile(config, 'clusters:\n  - { name: prod, region: eu-south-2 }\n');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const labels = { app: 'agent' };
const agent = {
  metadata: { name: 'agent', namespace: 'kube-system', uid: 'uid-agent' },
  spec: {
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        priorityClassName: 'system-node-critical',
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'main', image: 'example.com/agent:v1' }],
      },
    },
  },
  status: {},
};
const listOf = (items: object[]) =>
  Buffer.from(JSON.stringify({ kind: 'List', metadata: { resourceVersion: '1' }, items }));
const transport = {
  ...nothingThere,
  request: async ({ path }: { path: string }) => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: listOf(path.startsWith('/apis/apps/v1/daemonsets') ? [agent] : []),
  }),
};
const connect = (async () => ({ name: 'prod', transport })) as unknown as Io['connect'];

const launchTemplate = { id: 'lt-1', version: '1' };
/** One group that registers its nodes with a taint which nobody takes off. */
const answering: NodeGroupReads = {
  nodeGroups: async () => [
    {
      name: 'general',
      labels: {},
      taints: [{ key: 'nodegap.dev/startup-agent', effect: 'NoSchedule' }],
      launchTemplate,
    },
  ],
  launchTemplate: async (id, version) => ({ id, version, name: 'general' }),
  newestLaunchTemplates: async () => [],
};

describe('nodegap audit of a live cluster', () => {
  it('looks at the node groups of a cluster that the configuration names, in its region', async () => {
    const regions: string[] = [];
    const { code, out } = await nodegap(['audit', '--config', config, '-o', 'json'], {
      connect,
      nodeGroups: async (region) => {
        regions.push(region);
        return answering;
      },
    });
    expect(regions).toEqual(['eu-south-2']);
    const subjects = JSON.parse(out).findings.map(
      ({ subject }: { subject: { kind: string; name: string } }) =>
        `${subject.kind} ${subject.name}`,
    );
    expect(subjects).toContain('NodeGroup general');
    expect(code).toBe(2);
  });

  it('says what was not checked where AWS does not answer', async () => {
    const { code, out } = await nodegap(['audit', '--config', config], {
      connect,
      nodeGroups: async () => ({
        ...answering,
        nodeGroups: async () => {
          throw new NodegapError('Eks.failed', 'no credentials for eu-south-2');
        },
      }),
    });
    expect(code).not.toBe(1);
    expect(out.replace(/\s+/g, ' ')).toContain('no credentials for eu-south-2');
  });

  it('asks nobody about a cluster that no configuration names, and says so', async () => {
    const { code, out } = await nodegap(['audit'], { connect });
    expect(code).not.toBe(1);
    expect(out.replace(/\s+/g, ' ')).toContain('need a --config that names the cluster');
  });
});
