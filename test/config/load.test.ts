import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defaultConfig, loadConfig } from '../../lib/config/load.ts';
import { UsageError } from '../../lib/errors.ts';

const minimal = 'clusters: [{name: prod, region: eu-west-1}]\n';
const examples = join(import.meta.dirname, '../../examples');

function problemsIn(text: string): string[] {
  try {
    loadConfig(text, 'nodegap.yaml');
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as UsageError).message.split('\n');
  }
  return [];
}

describe('loadConfig', () => {
  it('fills in everything from the name and region of one cluster', () => {
    const { config } = loadConfig(minimal, 'nodegap.yaml');
    expect(config).toEqual(defaultConfig('prod', 'eu-west-1'));
    expect(config.clusters[0]?.mode).toBe('observe');
    expect(config.requiredDaemonSets).toEqual([
      { by: 'priority-class', priorityClass: 'system-node-critical', action: 'replace' },
    ]);
    expect(config.timings).toEqual({
      scan: 60,
      nodeGrace: 600,
      podGrace: 300,
      confirmationScans: 2,
      confirmation: 60,
      holdDown: 600,
      holdDownNodeNotReady: 1800,
      holdUp: 120,
      drain: 1800,
      approval: 43_200,
      verification: 900,
      volumes: 300,
      poll: 30,
      startupSoak: 30,
      startupDeadline: 900,
    });
    expect(config.breaker).toEqual({
      maxUnhealthyPercent: 20,
      unhealthyInOneZone: 5,
      coolDown: 600,
      reopenInterval: 300,
      reopenFor: 3600,
      parallelPerPool: 1,
      parallelPerCluster: 3,
      replacementsPerHour: 5,
      badReplacements: 2,
      zonalShifts: 'hold',
      eksUpdates: 'hold',
    });
  });

  it('reads every way of naming DaemonSets', () => {
    const { config } = loadConfig(
      `${minimal}requiredDaemonSets:
  - {name: aws-node, action: alert}
  - {name: logging/fluent-bit, action: isolate}
  - {selector: 'tier in (mesh, storage)'}
  - {priorityClass: system-node-critical}
`,
      'nodegap.yaml',
    );
    expect(config.requiredDaemonSets).toEqual([
      { by: 'name', name: 'aws-node', action: 'alert' },
      { by: 'namespaced-name', namespace: 'logging', name: 'fluent-bit', action: 'isolate' },
      { by: 'selector', selector: 'tier in (mesh, storage)', action: 'replace' },
      { by: 'priority-class', priorityClass: 'system-node-critical', action: 'replace' },
    ]);
  });

  it('gives the same sum for the same meaning and another for another', () => {
    const sumOf = (text: string) => loadConfig(text, 'f').sha256;
    const reordered = 'clusters:\n  - region: eu-west-1 # comment\n    name: prod\n';
    expect(sumOf(minimal)).toMatch(/^[0-9a-f]{64}$/);
    expect(sumOf(reordered)).toBe(sumOf(minimal));
    expect(sumOf(`${minimal}timings: {holdUp: 120s}`)).toBe(sumOf(minimal));
    expect(sumOf(`${minimal}timings: {holdUp: 3m}`)).not.toBe(sumOf(minimal));
  });

  it('tells where a part stands', () => {
    const text = `${minimal}requiredDaemonSets:\n  - name: a\n  - name: b\n`;
    const located = loadConfig(text, 'my.yaml');
    expect(located.where(['requiredDaemonSets', 1])).toBe('my.yaml:4:5');
    expect(located.where(['breaker', 'coolDown'])).toBe('my.yaml:1:1');
  });

  it('reports all problems at once, in the order of the file', () => {
    expect(
      problemsIn(`clusters:
  - name: prod
    regoin: eu-west-1
timings:
  holdDown: 10x
breaker:
  parallelPerPool: 0
`),
    ).toEqual([
      'nodegap.yaml:2:5: clusters[0].region: is missing; write region: …',
      'nodegap.yaml:3:5: clusters[0].regoin: unknown key; did you mean region?',
      'nodegap.yaml:5:13: timings.holdDown: "10x" is not a duration; write for example 10m',
      'nodegap.yaml:7:20: breaker.parallelPerPool: 0 is not a whole number of at least 1; write for example 1',
    ]);
  });

  it('names the first few of many faults in YAML', () => {
    const lines = problemsIn('# a\n- b\n]\n]\n]\n]\n]\n');
    expect(lines).toHaveLength(4);
    expect(lines.at(-1)).toMatch(/^nodegap.yaml: and \d more$/);
  });

  it.each<[string, string, RegExp]>([
    ['no text', '', /file is empty/],
    ['a comment only', '# nothing\n', /file is empty/],
    ['broken YAML', 'clusters: [', /^nodegap.yaml:1:\d+: /],
    ['a key twice', `${minimal}${minimal}`, /2:1: Map keys must be unique/],
    ['two documents', `${minimal}---\n${minimal}`, /2 YAML documents/],
    ['a list', '- a', /1:1: \["a"\] is not a map of keys/],
    ['no clusters', 'timings: {}', /clusters: is missing/],
    ['an empty cluster list', 'clusters: []', /1:11: clusters: is empty/],
    ['an empty cluster', 'clusters: [~]', /clusters\[0\]: is empty/],
    [
      'an empty list of required DaemonSets',
      `${minimal}requiredDaemonSets: []`,
      /2:21: requiredDaemonSets: is empty, and would mean that nothing is required/,
    ],
    ['an empty section', `${minimal}timings:`, /2:1: timings: is empty; give it a map/],
    ['an unknown section', `${minimal}timing: {}`, /timing: unknown key; did you mean timings\?/],
    [
      'a bad mode',
      'clusters: [{name: a, region: eu-west-1, mode: acting}]',
      /mode: "acting" is not/,
    ],
    ['a bad region', 'clusters: [{name: a, region: Ireland}]', /"Ireland" is not an AWS region/],
    [
      'an account without quotes',
      'clusters: [{name: a, region: eu-west-1, account: 123456789012}]',
      /account: 123456789012 is not an AWS account id in quotes/,
    ],
    [
      'a cluster name twice',
      'clusters: [{name: a, region: eu-west-1}, {name: a, region: eu-west-2}]',
      /1:49: clusters\[1\].name: "a" is the name of clusters\[0\] already/,
    ],
    [
      'a network that is not there',
      'clusters: [{name: a, region: eu-west-1, network: vpn}]',
      /network: there is no network "vpn"; add it under networks/,
    ],
    [
      'a network named public',
      `${minimal}networks: [{name: public}]`,
      /"public" is the built-in network/,
    ],
    [
      'subnets without their zones',
      `${minimal}networks: [{name: n, vpcId: vpc-1, subnetIds: [subnet-1, subnet-2], availabilityZones: [eu-west-1a], securityGroupIds: [sg-1]}]`,
      /availabilityZones: has 1 zones for 2 subnets/,
    ],
    [
      'a network without subnets',
      `${minimal}networks: [{name: n, vpcId: vpc-1, subnetIds: [], availabilityZones: [eu-west-1a], securityGroupIds: [sg-1]}]`,
      /subnetIds: is empty; name at least one/,
    ],
    [
      'an entry that says nothing',
      `${minimal}requiredDaemonSets: [{action: alert}]`,
      /requiredDaemonSets\[0\]: says no DaemonSet/,
    ],
    [
      'an entry that says two things',
      `${minimal}requiredDaemonSets: [{name: a, selector: b=c}]`,
      /has several of name, selector and priorityClass/,
    ],
    [
      'a wildcard',
      `${minimal}requiredDaemonSets: [{name: "*"}]`,
      /"\*" is not a DaemonSet name; write for example kube-system\/aws-node/,
    ],
    [
      'a namespace key',
      `${minimal}requiredDaemonSets: [{namespace: a, name: b}]`,
      /namespace: unknown key; write name: NAMESPACE\/NAME/,
    ],
    [
      'an empty selector',
      `${minimal}requiredDaemonSets: [{selector: ''}]`,
      /selector: an empty selector would mean every DaemonSet/,
    ],
    [
      'a bad selector',
      `${minimal}requiredDaemonSets: [{selector: 'app in (a'}]`,
      /2:33: requiredDaemonSets\[0\].selector: parentheses/,
    ],
    [
      'a bad action',
      `${minimal}requiredDaemonSets: [{name: a, action: isolat}]`,
      /action: "isolat" is not one of alert, isolate, replace; did you mean isolate\?/,
    ],
    ['a taint with an effect', `${minimal}startupTaints: ["a:NoSchedule"]`, /is not a taint key/],
    ['a number for a duration', `${minimal}timings: {holdUp: 10}`, /holdUp: 10 is not a duration/],
    ['half a minute between scans', `${minimal}timings: {scan: 30s}`, /scan: "30s" is too short/],
    ['uneven scans', `${minimal}timings: {scan: 90s}`, /scan: "90s" is not a multiple of 1m/],
    ['a grace of none', `${minimal}drain: {force: {grace: 0s}}`, /grace: "0s" is not the grace/],
    ['no time to drain', `${minimal}timings: {drain: 0s}`, /drain: "0s" is too short; at least 1m/],
    [
      'more polls than an execution has room for',
      `${minimal}timings: {poll: 5s, drain: 12h}`,
      /2:17: timings.poll: 5s is too short.*write at least 31s/,
    ],
    [
      'a drain that is forced for as long again',
      `${minimal}drain: {force: {pods: [budget]}}\ntimings: {poll: 5s, drain: 70m}`,
      /timings.poll: 5s is too short.*write at least 8s/,
    ],
    [
      'more time for a person than an execution lives',
      `${minimal}approvals: {policy: always}\ntimings: {approval: 40h}`,
      /timings.approval: one execution lives for 72h at most.*answers of persons \(2\).*take 81h20m/,
    ],
    [
      'a drain that outlives its execution',
      `${minimal}timings: {drain: 70h, poll: 10m}`,
      /timings.drain: one execution lives for 72h at most/,
    ],
    ['a replacement that does not exist', `${minimal}replacement: {other: delete}`, /not notify/],
  ])('refuses %s with a line that says so', (_what, text, expected) => {
    const problems = problemsIn(text);
    expect(problems.filter((line) => expected.test(line))).toHaveLength(1);
  });

  it.each(["'20%'", '0.2', '.nan', '-1', '101', '.inf', 'true', '"20"'])(
    'refuses %s as the unhealthy percentage, with the name of the key (C116)',
    (value) => {
      expect(problemsIn(`${minimal}breaker: {maxUnhealthyPercent: ${value}}`)).toEqual([
        expect.stringMatching(
          /^nodegap.yaml:2:32: breaker.maxUnhealthyPercent: .* is not a whole number from 0 to 100/,
        ),
      ]);
    },
  );

  it.each([
    `${minimal}taintEffect: NoExecute`,
    'clusters: [{name: a, region: eu-west-1, effect: NoExecute}]',
  ])('C52: refuses a taint effect, and says why: %s', (text) => {
    const why =
      /taint effect is always NoSchedule, because NoExecute deletes pods past their budgets/;
    expect(problemsIn(text).filter((line) => why.test(line))).toHaveLength(1);
  });

  it.each([0, 1, 20, 100])('takes %i as the unhealthy percentage (C116)', (value) => {
    const { config } = loadConfig(
      `${minimal}breaker: {maxUnhealthyPercent: ${value}}`,
      'nodegap.yaml',
    );
    expect(config.breaker.maxUnhealthyPercent).toBe(value);
  });
});

describe('examples', () => {
  const load = (name: string) => loadConfig(readFileSync(join(examples, name), 'utf8'), name);

  it('shows in the full example exactly the defaults', () => {
    expect(load('nodegap.full.yaml').config).toEqual(load('nodegap.yaml').config);
  });

  it('shows every key in the full example', () => {
    const text = readFileSync(join(examples, 'nodegap.full.yaml'), 'utf8');
    const keysOf = (value: unknown): string[] =>
      typeof value !== 'object' || value === null
        ? []
        : Object.entries(value).flatMap(([key, part]) =>
            Array.isArray(value) ? keysOf(part) : [key, ...keysOf(part)],
          );
    const { requiredDaemonSets: _, ...rest } = load('nodegap.full.yaml').config;
    for (const key of keysOf(rest)) expect(text).toContain(`${key}:`);
  });
});
