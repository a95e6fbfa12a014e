import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { defaultConfig } from '../../lib/config/load.ts';
import { prometheusRules } from '../../lib/report/prometheus/rules.ts';
import { daemonSet } from '../gap/build.ts';

const root = `${import.meta.dirname}/../..`;
const page = readFileSync(`${root}/docs/alerts.md`, 'utf8');

test('docs/alerts.md has a section for each alert of Prometheus, and for no other', () => {
  const priorityClassName = 'system-node-critical';
  const { groups } = prometheusRules({
    config: defaultConfig('test', 'eu-west-1'),
    daemonSets: [
      daemonSet('plain', { template: { priorityClassName } }),
      daemonSet('counted', { template: { priorityClassName, nodeSelector: { gpu: '' } } }),
    ],
    scope: { clusterLabel: 'cluster' },
  });
  const alerts = groups.flatMap(({ rules }) =>
    rules.flatMap((rule) => ('alert' in rule ? [rule.alert] : [])),
  );
  const sections = [...page.matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
  expect(sections.sort()).toEqual([...new Set(alerts)].sort());
});

test('docs/alerts.md lists each alarm of the stack', () => {
  const code = readFileSync(`${root}/cdk/constructs/alarms.ts`, 'utf8');
  const names = [...code.matchAll(/#alarm\(\s*`(?:\$\{\w+\}-)+([\w-]+)`/g)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(3);
  expect(names.filter((name) => !page.includes(`-${name}\``))).toEqual([]);
});
