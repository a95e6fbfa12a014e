import { describe, expect, it } from 'vitest';
import { defaultConfig, loadConfig } from '../../lib/config/load.ts';
import type { RequiredDaemonSet } from '../../lib/config/model.ts';
import {
  detectionPolicyOf,
  requirementOf,
  unmatchedRequirements,
} from '../../lib/config/required.ts';
import type { DaemonSet } from '../../lib/kubernetes/objects.ts';

function daemonSet(
  key: string,
  options: { labels?: Record<string, string>; priorityClassName?: string } = {},
): DaemonSet {
  const [namespace = '', name = ''] = key.split('/');
  const { labels, ...spec } = options;
  return {
    metadata: { namespace, name, uid: key, ...(labels === undefined ? {} : { labels }) },
    spec: { selector: {}, template: { spec } },
    status: {},
  };
}

const fluentBit = daemonSet('logging/fluent-bit', { labels: { tier: 'logs' } });
const awsNode = daemonSet('kube-system/aws-node', { priorityClassName: 'system-node-critical' });

function entries(yaml: string): { requiredDaemonSets: RequiredDaemonSet[] } {
  const text = `clusters: [{name: a, region: eu-west-1}]\nrequiredDaemonSets: [${yaml}]`;
  return loadConfig(text, 'nodegap.yaml').config;
}

describe('requirementOf', () => {
  it.each<[string, DaemonSet, string | undefined, string | undefined]>([
    ['{name: fluent-bit, action: alert}', fluentBit, 'alert', 'name: fluent-bit'],
    ['{name: logging/fluent-bit}', fluentBit, 'replace', 'name: logging/fluent-bit'],
    ['{name: other/fluent-bit}', fluentBit, undefined, undefined],
    ['{name: fluent}', fluentBit, undefined, undefined],
    ['{selector: tier=logs, action: isolate}', fluentBit, 'isolate', 'selector: tier=logs'],
    ['{selector: "!tier"}', fluentBit, undefined, undefined],
    ['{selector: "!tier"}', awsNode, 'replace', 'selector: !tier'],
    [
      '{priorityClass: system-node-critical}',
      awsNode,
      'replace',
      'priorityClass: system-node-critical',
    ],
    ['{priorityClass: system-node-critical}', fluentBit, undefined, undefined],
    [
      '{name: aws-node, action: alert}, {priorityClass: system-node-critical}',
      awsNode,
      'alert',
      'name: aws-node',
    ],
    [
      '{priorityClass: system-node-critical}, {name: aws-node, action: alert}',
      awsNode,
      'replace',
      'priorityClass: system-node-critical',
    ],
  ])('by [%s]', (yaml, subject, ceiling, chosenBy) => {
    const requirement = requirementOf(entries(yaml), subject);
    expect(requirement).toEqual(ceiling === undefined ? undefined : { ceiling, chosenBy });
  });
});

describe('unmatchedRequirements', () => {
  it('is silent when every entry chooses something', () => {
    const config = entries('{name: aws-node, action: alert}, {selector: tier}');
    expect(unmatchedRequirements(config, [fluentBit, awsNode])).toEqual([]);
  });

  it('names an entry that matches nothing', () => {
    const config = entries('{name: aws-node}, {name: kube-system/fluent-bit}');
    expect(unmatchedRequirements(config, [fluentBit, awsNode])).toEqual([
      expect.objectContaining({
        index: 1,
        why: 'matches-nothing',
        message: '"name: kube-system/fluent-bit" matches no DaemonSet of the cluster',
      }),
    ]);
  });

  it('names an entry whose action an earlier one has decided otherwise', () => {
    const config = entries(
      '{priorityClass: system-node-critical}, {name: aws-node, action: alert}',
    );
    expect(unmatchedRequirements(config, [fluentBit, awsNode])).toEqual([
      expect.objectContaining({
        index: 1,
        why: 'shadowed',
        message:
          '"name: aws-node" with action alert never applies: the entry "priorityClass: system-node-critical" above it decides; move it up',
      }),
    ]);
  });

  it.each([
    [
      'a general entry below its exceptions',
      '{name: aws-node, action: alert}, {priorityClass: system-node-critical}',
    ],
    [
      'an entry that says the same again',
      '{priorityClass: system-node-critical}, {name: aws-node}',
    ],
  ])('is silent about %s', (_what, yaml) => {
    expect(unmatchedRequirements(entries(yaml), [awsNode])).toEqual([]);
  });
});

describe('detectionPolicyOf', () => {
  it('carries timings in milliseconds', () => {
    const policy = detectionPolicyOf(defaultConfig('a', 'eu-west-1'), { allDaemonSets: true });
    expect(policy).toMatchObject({
      allDaemonSets: true,
      nodeGraceMs: 600_000,
      podGraceMs: 300_000,
      confirmationScans: 2,
      confirmationMs: 60_000,
    });
    expect(policy.startupTaints).toContain('node.cilium.io/agent-not-ready');
    expect(policy.requirementOf(awsNode)?.ceiling).toBe('replace');
    expect(policy.requirementOf(fluentBit)).toBeUndefined();
  });
});
