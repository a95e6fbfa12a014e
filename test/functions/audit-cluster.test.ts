import { describe, expect, it } from 'vitest';
import { type AuditPorts, makeHandler } from '../../functions/audit-cluster.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { KubernetesError, NodegapError } from '../../lib/errors.ts';
import type { Notice } from '../../lib/ports.ts';
import { MemoryTable } from '../../local/memory-table.ts';

const loaded = loadConfig(
  'clusters:\n  - { name: prod, region: eu-west-1 }\nrequiredDaemonSets:\n  - { name: kube-system/agent }\n',
  'nodegap.yaml',
);

function daemonSet(image: string): object {
  const labels = { app: 'agent' };
  return {
    metadata: { name: 'agent', namespace: 'kube-system', uid: 'uid-agent' },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          tolerations: [{ operator: 'Exists' }],
          containers: [{ name: 'main', image }],
        },
      },
    },
    status: {},
  };
}

const node = {
  metadata: { name: 'n1', uid: 'uid-n1', labels: { 'kubernetes.io/os': 'linux' } },
  spec: {},
  status: {},
};

/** An installation whose cluster has one agent, and what people, metrics and log got of it. */
function installation() {
  const state = { image: 'example.com/agent:latest', asked: [] as string[], snsFails: false };
  const notices: Notice[] = [];
  const counted: Record<string, number> = {};
  const lines: string[] = [];
  const line = (message: string, fields: Record<string, unknown>) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const ports: AuditPorts = {
    clock: { now: () => Date.UTC(2026, 10, 30) },
    config: async () => loaded,
    clusterOf: async (name) => {
      const found = loaded.config.clusters.find((each) => each.name === name);
      if (found === undefined) throw new NodegapError('ClusterNotConfigured', `no ${name}`);
      return found;
    },
    table: new MemoryTable(),
    notifier: {
      notify: async (notice) => {
        if (state.snsFails) throw new NodegapError('Notice.Unavailable', 'SNS is away');
        notices.push(notice);
      },
    },
    metrics: {
      count(name, value, { severity = '' }) {
        counted[`${name} ${severity}`] = value;
      },
    },
    log: { info: line, warn: line, error: line },
    nodeGroups: {
      nodeGroups: async () => {
        throw new NodegapError('Eks.denied', 'not allowed to list node groups');
      },
      launchTemplate: async () => undefined,
      newestLaunchTemplates: async () => [],
    },
    auditReads: {
      connect: async () => ({
        list: async (path) => {
          state.asked.push(path);
          if (path.endsWith('/daemonsets')) return [daemonSet(state.image)];
          if (path.endsWith('/nodes')) return [node];
          if (path.endsWith('/nodepools')) {
            throw new KubernetesError('forbidden', 'no', { status: 403 });
          }
          return [];
        },
        get: async (path) => {
          state.asked.push(path);
          return undefined;
        },
      }),
    },
  };
  return { audit: makeHandler(ports), state, notices, counted, lines };
}

describe('the daily audit', () => {
  it('counts by severity, logs each finding and tells people once', async () => {
    const { audit, notices, counted, lines } = installation();
    const first = await audit({ cluster: 'prod' });
    const all = first.findings.error + first.findings.warning + first.findings.note;
    expect(first.fresh).toBe(first.findings.error + first.findings.warning);
    expect(first.fresh).toBeGreaterThan(0);
    expect(all).toBeGreaterThan(0);
    expect(counted).toEqual({
      'AuditFindings error': first.findings.error,
      'AuditFindings warning': first.findings.warning,
      'AuditFindings note': first.findings.note,
    });
    expect(lines.filter((line) => line.startsWith('audit finding '))).toHaveLength(all);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatchObject({ cluster: 'prod', thread: 'prod/audit', kind: 'report' });
    expect(await audit({ cluster: 'prod' })).toEqual({ ...first, fresh: 0 });
    expect(notices).toHaveLength(1);
  });

  it('says what could not be checked, and why', async () => {
    const { audit, lines } = installation();
    expect((await audit({ cluster: 'prod' })).notChecked).toBeGreaterThan(0);
    const unchecked = lines.filter((line) => line.startsWith('audit not checked')).join('\n');
    expect(unchecked).toContain('not allowed to list node groups');
    expect(unchecked).toContain('no right to read NodePools');
  });

  it('tells people when a finding has ended', async () => {
    const { audit, state, notices } = installation();
    await audit({ cluster: 'prod' });
    state.image = 'example.com/agent:v1.2.3';
    expect(await audit({ cluster: 'prod' })).toMatchObject({ fresh: 0, ended: 1 });
    expect(notices[1]?.body).toContain('sees 1 earlier finding ended');
  });

  it('tells again what could not be told', async () => {
    const { audit, state, notices } = installation();
    state.snsFails = true;
    await expect(audit({ cluster: 'prod' })).rejects.toThrow('SNS is away');
    state.snsFails = false;
    await audit({ cluster: 'prod' });
    expect(notices).toHaveLength(1);
  });

  it('asks for no ConfigMap, Secret, ServiceAccount or usage', async () => {
    const { audit, state } = installation();
    await audit({ cluster: 'prod' });
    const kinds = /configmaps|secrets|serviceaccounts|metrics\.k8s\.io|\/pods/;
    expect(state.asked.filter((path) => kinds.test(path))).toEqual([]);
    expect(state.asked.length).toBeGreaterThan(5);
  });

  it('refuses a cluster that is not configured', async () => {
    const { audit } = installation();
    await expect(audit({ cluster: 'other' })).rejects.toMatchObject({
      code: 'ClusterNotConfigured',
    });
  });
});
