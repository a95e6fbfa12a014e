import { describe, expect, it } from 'vitest';
import { dumpOf, nodegap } from './run.ts';

const cluster = 'clusters: [{name: prod, region: eu-west-1}]\n';
const check = (stdin: string, ...args: string[]) =>
  nodegap(['config', 'check', '-', ...args], { stdin });

describe('nodegap config check', () => {
  it('shows what a valid configuration says', async () => {
    const { code, out, err } = await check(cluster);
    expect(out).toMatch(/^✓ stdin is valid \(sha256 [0-9a-f]{64}\)\n/);
    expect(out).toMatch(/^prod +eu-west-1 +public +observe$/m);
    expect(out).toMatch(/^priorityClass: system-node-critical +replace$/m);
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  it('shows which DaemonSets each entry chooses', async () => {
    const { code, out } = await check(cluster, '--file', dumpOf('C34'));
    expect(out).toMatch(
      /^priorityClass: system-node-critical +replace +kube-system\/secrets-agent$/m,
    );
    expect(code).toBe(0);
  });

  it('reports every problem as an error of its own', async () => {
    const { code, out, err } = await check(`${cluster}timings: {holdDown: 10x}\nmode: act\n`);
    expect(err).toBe(
      [
        'error: stdin:2:21: timings.holdDown: "10x" is not a duration; write for example 10m',
        'error: stdin:3:1: mode: unknown key; known here: clusters, networks, requiredDaemonSets, conditions, conditionTaints, startupTaints, timings, breaker, approvals, replacement, drain, evidence, audit',
        'hint: every key with its default: examples/nodegap.full.yaml and docs/configuration.md',
        '',
      ].join('\n'),
    );
    expect({ code, out }).toEqual({ code: 1, out: '' });
  });

  it('refuses an entry that matches nothing in the cluster, with its line', async () => {
    const config = `${cluster}requiredDaemonSets:\n  - name: monitoring/secrets-agent\n  - selector: a=b\n`;
    const { code, out, err } = await check(config, '--file', dumpOf('C34'));
    expect(err).toBe(
      [
        'error: stdin:3:5: requiredDaemonSets[0]: "name: monitoring/secrets-agent" matches no DaemonSet of the cluster; did you mean kube-system/secrets-agent?',
        'error: stdin:4:5: requiredDaemonSets[1]: "selector: a=b" matches no DaemonSet of the cluster',
        'hint: 1 DaemonSet there: kube-system/secrets-agent',
        '',
      ].join('\n'),
    );
    expect({ code, out }).toEqual({ code: 1, out: '' });
  });
});

describe('nodegap rbac', () => {
  it('prints objects for kubectl apply', async () => {
    const { code, out } = await nodegap(['rbac']);
    expect(out).toContain('kind: ClusterRole\n');
    expect(out).toContain('name: nodegap:actuator');
    expect(code).toBe(0);
  });

  it('gives the right to delete pods on demand only', async () => {
    expect((await nodegap(['rbac'])).out).not.toMatch(/- pods\n +verbs:\n +- delete/);
    const { out } = await nodegap(['rbac', '--force-drain']);
    expect(out).toMatch(/- pods\n +verbs:\n +- delete/);
  });

  it('lists further taint keys, as many as are named', async () => {
    expect((await nodegap(['rbac'])).out).toContain('nodegap.dev/taint-keys: ""\n');
    const { out, code } = await nodegap(['rbac', '--taint-key', 'a.b/c', '--taint-key', 'd']);
    expect(out).toContain('nodegap.dev/taint-keys: a.b/c,d\n');
    expect(code).toBe(0);
  });

  it('says in one line which taint key it will not list, and prints nothing', async () => {
    const { code, out, err } = await nodegap([
      'rbac',
      ...['--taint-key', 'a.b/c', '--taint-key', 'karpenter.sh/disrupted'],
    ]);
    expect(err.trimEnd()).toMatch(
      /^error: "karpenter\.sh\/disrupted" cannot be handed .*Karpenter.*$/,
    );
    expect(out).toBe('');
    expect(code).toBe(1);
  });

  it('gives people who remediate their rights on demand', async () => {
    expect((await nodegap(['rbac'])).out).not.toContain('name: nodegap:operator');
    const { out } = await nodegap(['rbac', '--operator']);
    expect(out).toContain('name: nodegap:operator');
    expect(out).toMatch(/^apiVersion: v1\nkind: Namespace\n/);
  });
});
