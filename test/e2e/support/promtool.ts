/** What kube-state-metrics says of a made-up cluster over time, and which alerts promtool sees fire. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { PrometheusRules } from '../../../lib/report/prometheus/model.ts';
import { nodeLabelName } from '../../../lib/report/prometheus/promql.ts';
import { programPath } from '../harness/tools.ts';

/** Values a minute each, in promtool's notation: `1x60` is 61 times one, `_` is none. */
export type Values = string;

export interface Series {
  series: string;
  values: Values;
}

const always = '1x60';

/** A series of kube-state-metrics; twice when two of them run. */
export function metric(
  name: string,
  labels: Record<string, string>,
  values: Values = always,
): Series {
  const text = Object.entries(labels).map(([label, value]) => `${label}=${JSON.stringify(value)}`);
  return { series: `${name}{${text.join(',')}}`, values };
}

export interface NodeSeries {
  /** Seconds since the epoch, at which promtool begins. */
  created?: number;
  /** Whether it is Ready. */
  ready?: Values;
  labels?: Record<string, string>;
  taints?: { key: string; value?: string; effect?: string }[];
  providerId?: string;
  /** Labels of the scrape, as the cluster or the instance. */
  scrape?: Record<string, string>;
}

export function nodeSeries(node: string, options: NodeSeries = {}): Series[] {
  const { scrape = {}, ready = always } = options;
  const is = { ...scrape, node };
  const labels = Object.entries(options.labels ?? {});
  return [
    metric('kube_node_info', {
      ...is,
      provider_id: options.providerId ?? `aws:///eu-1a/i-${node}`,
    }),
    metric('kube_node_created', is, `${options.created ?? -86_400}x60`),
    metric('kube_node_status_condition', { ...is, condition: 'Ready', status: 'true' }, ready),
    metric('kube_node_labels', {
      ...is,
      ...Object.fromEntries(labels.map(([key, value]) => [nodeLabelName(key), value])),
    }),
    ...(options.taints ?? []).map(({ key, value = '', effect = 'NoSchedule' }) =>
      metric('kube_node_spec_taint', { ...is, key, value, effect }),
    ),
  ];
}

export interface PodSeries {
  pod?: string;
  namespace?: string;
  daemonSet?: string;
  /** While it is there. */
  there?: Values;
  /** While it is Ready; as long as it is there when absent. */
  ready?: Values;
  phase?: string;
  scrape?: Record<string, string>;
}

export function podSeries(node: string, options: PodSeries = {}): Series[] {
  const { namespace = 'kube-system', daemonSet = 'agent', there = always, scrape = {} } = options;
  const is = { ...scrape, namespace, pod: options.pod ?? `${daemonSet}-${node}` };
  const by = { created_by_kind: 'DaemonSet', created_by_name: daemonSet };
  return [
    metric('kube_pod_info', { ...is, node, ...by }, there),
    metric('kube_pod_status_ready', { ...is, condition: 'true' }, options.ready ?? there),
    metric('kube_pod_status_phase', { ...is, phase: options.phase ?? 'Running' }, there),
  ];
}

export function daemonSetSeries(
  desired: Values,
  daemonSet = 'agent',
  scrape: Record<string, string> = {},
): Series[] {
  const is = { ...scrape, namespace: 'kube-system', daemonset: daemonSet };
  return [metric('kube_daemonset_status_desired_number_scheduled', is, desired)];
}

/** What promtool is to find at a minute: the labels of the alerts that fire. */
export interface Expectation {
  minute: number;
  firing: Record<string, string>[];
}

/** Runs `promtool test rules` over the rules. @throws Error with what promtool prints. */
export async function testRules(
  rules: PrometheusRules,
  series: readonly Series[],
  expected: readonly Expectation[],
): Promise<void> {
  await withFiles(async (folder) => {
    writeFileSync(join(folder, 'rules.yaml'), stringify({ groups: rules.groups }));
    const test = {
      rule_files: ['rules.yaml'],
      evaluation_interval: '1m',
      group_eval_order: rules.groups.map(({ name }) => name),
      tests: [
        {
          interval: '1m',
          input_series: series,
          promql_expr_test: expected.map(({ minute, firing }) => ({
            expr: 'max without (alertstate, severity) (ALERTS{alertstate="firing"})',
            eval_time: `${minute}m`,
            exp_samples: firing.map((labels) => ({ labels: labelText(labels), value: 1 })),
          })),
        },
      ],
    };
    writeFileSync(join(folder, 'test.yaml'), stringify(test));
    await promtool(['test', 'rules', join(folder, 'test.yaml')]);
  });
}

/** Runs `promtool check rules` over the text of a rule file. @throws Error with what it prints. */
export async function checkRules(text: string): Promise<string> {
  return withFiles(async (folder) => {
    const file = join(folder, 'rules.yaml');
    writeFileSync(file, text);
    return promtool(['check', 'rules', '--lint=all', '--lint-fatal', file]);
  });
}

async function withFiles<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'nodegap-promtool-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function labelText(labels: Record<string, string>): string {
  return `{${Object.entries(labels)
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
    .join(',')}}`;
}

function promtool(args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(programPath('promtool'), args, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`promtool ${args[0]} ${args[1]}:\n${stdout}${stderr}`));
    });
  });
}
