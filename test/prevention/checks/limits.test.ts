import { describe, expect, it } from 'vitest';
import type { PodUsage } from '../../../lib/prevention/facts.ts';
import { type Audited, agent, findings, said, unmade } from '../audited.ts';
import { read } from '../prevention-facts.ts';

const check = 'limit-at-or-below-use';
const limited = (limits: Record<string, string>) => [
  agent({ container: { resources: { limits } } }),
];
const using = (memoryMi: number, cpuCores: number, more: Partial<PodUsage> = {}): PodUsage => ({
  namespace: 'kube-system',
  pod: 'agent-x',
  daemonSet: 'kube-system/agent',
  node: 'n1',
  containers: [{ name: 'main', memoryBytes: memoryMi * 2 ** 20, cpuCores }],
  ...more,
});

describe(check, () => {
  it.each<[string, Audited, string[]]>([
    ['no limits', { facts: { usage: read(using(500, 2)) } }, []],
    [
      'above',
      {
        daemonSets: limited({ memory: '128Mi', cpu: '1' }),
        facts: { usage: read(using(64, 0.5)) },
      },
      [],
    ],
    [
      'memory at',
      { daemonSets: limited({ memory: '128Mi' }), facts: { usage: read(using(128, 0)) } },
      ['error DaemonSet agent'],
    ],
    [
      'cpu below',
      { daemonSets: limited({ cpu: '100m' }), facts: { usage: read(using(1, 0.2)) } },
      ['warning DaemonSet agent'],
    ],
    [
      'on one node of many',
      {
        daemonSets: limited({ memory: '128Mi' }),
        facts: { usage: read(using(1, 0), using(200, 0, { node: 'n2' })) },
      },
      ['error DaemonSet agent'],
    ],
    [
      'of another DaemonSet',
      {
        daemonSets: limited({ memory: '128Mi' }),
        facts: { usage: read(using(1, 0), using(500, 0, { daemonSet: 'default/agent' })) },
      },
      [],
    ],
    [
      'a limit that is no quantity',
      { daemonSets: limited({ memory: 'much' }), facts: { usage: read(using(1, 0)) } },
      [],
    ],
  ])('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  it('proposes half as much again as was used, and names the node', () => {
    const [finding] = findings(check, {
      daemonSets: limited({ memory: '128Mi' }),
      facts: { usage: read(using(200, 0, { node: 'n2' })) },
    });
    expect(finding?.message).toContain('uses 200Mi on n2');
    expect(finding?.change).toContain('"limits":{"memory":"300Mi"}');
  });

  it.each<[string, Audited['facts'], string]>([
    ['use was not read', {}, 'not asked for'],
    ['use of its pods was not among it', { usage: read() }, 'no use of its pods'],
  ])('is not checked when %s', (_, facts, reason) => {
    const audited = { daemonSets: limited({ memory: '1Gi' }), ...(facts && { facts }) };
    expect(unmade(check, audited)).toEqual([expect.stringContaining(reason)]);
  });
});
