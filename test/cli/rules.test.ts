import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { dumpOf, nodegap } from './run.ts';

const rules = (...options: string[]) =>
  nodegap(['rules', 'prometheus', '--file', dumpOf('C01'), ...options]);

describe('nodegap rules prometheus', () => {
  it('prints one PrometheusRule', async () => {
    const { code, out, err } = await rules(
      ...['--namespace', 'monitoring', '--label', 'release=a=b', '--label', 'team=x'],
    );
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const object = parse(out);
    expect(object).toMatchObject({
      kind: 'PrometheusRule',
      metadata: { name: 'nodegap', namespace: 'monitoring', labels: { release: 'a=b', team: 'x' } },
    });
    expect(object.spec.groups.map(({ name }: { name: string }) => name)).toEqual([
      'nodegap.nodes',
      'nodegap.metrics',
      'nodegap.daemonset.monitoring/node-exporter',
    ]);
  });

  it('prints the same rules as a rule file', async () => {
    const [object, file] = [await rules(), await rules('-o', 'rules')];
    expect(parse(file.out)).toEqual({ groups: parse(object.out).spec.groups });
  });

  it('names the object after its cluster in a Prometheus of several', async () => {
    const { out } = await rules('--cluster-label', 'cluster', '--cluster-value', 'Prod_EU.1');
    expect(parse(out).metadata.name).toBe('nodegap-prod-eu-1');
    expect(out).toContain('cluster="Prod_EU.1"');
  });

  it.each<[string[], string]>([
    [['--cluster-value', 'a'], '--cluster-value needs --cluster-label'],
    [['--cluster-label', '1a'], '--cluster-label "1a" is no label of Prometheus'],
    [['-o', 'rules', '--namespace', 'a'], '--namespace and --label are for'],
    [['--label', 'a'], 'write it as key=value'],
    [['--now', '2026-01-01T00:00:00Z'], "unknown option '--now'"],
  ])('refuses %s', async (options, message) => {
    const { code, out, err } = await rules(...options);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(message);
  });
});
