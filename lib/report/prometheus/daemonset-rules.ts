/** The rules of one required DaemonSet. */
import { formatDuration } from '../../config/duration.ts';
import { requirementOf } from '../../config/required.ts';
import { compileDaemonSet } from '../../gap/eligibility.ts';
import type { Ceiling } from '../../gap/model.ts';
import { type DaemonSet, keyOf } from '../../kubernetes/objects.ts';
import { type Eligible, eligibleNodes } from './eligible.ts';
import type { AlertingRule, RecordingRule, RuleGroup, RulesInput, RulesNote } from './model.ts';
import { labelsOf, type Matcher, perCluster, perNode, recordedNodes, selector } from './promql.ts';
import { allowListFlag, nodeAlertSeconds, runbook } from './shared-rules.ts';

/** Who is woken up: what nodegap may do about it says how much it matters. */
const severities: Record<Ceiling, string> = {
  replace: 'critical',
  isolate: 'warning',
  alert: 'info',
};

/** The group of a DaemonSet; undefined when the configuration does not require it. */
export function daemonSetRules(
  input: RulesInput,
  daemonSet: DaemonSet,
): { group: RuleGroup; note?: RulesNote } | undefined {
  const requirement = requirementOf(input.config, daemonSet);
  if (requirement === undefined) return undefined;
  const { scope, config } = input;
  const eligible = eligibleNodes(
    scope,
    recordedNodes(scope, 'info'),
    compileDaemonSet(daemonSet),
    config.startupTaints,
  );
  const about = new About(input, daemonSet, severities[requirement.ceiling]);
  const own = eligible.kind === 'nodes' ? about.byNode(eligible) : about.byCount(eligible.why);
  const group = {
    name: `nodegap.daemonset.${keyOf(daemonSet)}`,
    rules: [...own, about.absent()],
  };
  const labels =
    eligible.kind === 'nodes'
      ? { needs: eligible.needs, refines: eligible.refines }
      : { needs: [], refines: [], untellable: eligible.why };
  const isPlain =
    labels.needs.length + labels.refines.length === 0 && labels.untellable === undefined;
  return isPlain ? { group } : { group, note: { daemonSet: keyOf(daemonSet), ...labels } };
}

class About {
  readonly #input: RulesInput;
  readonly #key: string;
  readonly #labels: { namespace: string; daemonset: string };
  readonly #severity: string;

  constructor(input: RulesInput, daemonSet: DaemonSet, severity: string) {
    const { name, namespace = 'default' } = daemonSet.metadata;
    this.#input = input;
    this.#key = keyOf(daemonSet);
    this.#labels = { namespace, daemonset: name };
    this.#severity = severity;
  }

  /** Alerts that name nodes. */
  byNode(eligible: Extract<Eligible, { kind: 'nodes' }>): (RecordingRule | AlertingRule)[] {
    const { scope } = this.#input;
    const on = labelsOf(scope, 'node');
    const expected = this.#recorded('expected');
    const pod = this.#recorded('pod');
    const ready = this.#recorded('pod_ready');
    const missing = this.#recorded('missing');
    const unready = this.#recorded('unready');
    const key = this.#key;
    const hold = formatDuration(nodeAlertSeconds(this.#input.config));
    const node = '{{ $labels.node }}';
    return [
      this.#record('eligible', eligible.expression),
      this.#record(
        'expected',
        `${this.#recorded('eligible')}\nand on ${on} ${recordedNodes(scope, 'considered')}\nand on ${labelsOf(scope)} ${this.#exists()}`,
      ),
      this.#record('pod', perNode(scope, this.#pods())),
      this.#record(
        'pod_ready',
        perNode(
          scope,
          `${this.#pods()}\nand on ${labelsOf(scope, 'namespace', 'pod')}\n${selector(scope, 'kube_pod_status_ready', [this.#inNamespace(), { label: 'condition', op: '=', value: 'true' }])} == 1`,
        ),
      ),
      // Without any pod in the metrics, every node would seem to lack its own.
      this.#record(
        'missing',
        `${expected}\nunless on ${on} ${pod}\nand on ${labelsOf(scope)} ${perCluster(scope, selector(scope, 'kube_pod_info'))}`,
      ),
      this.#record('unready', `${expected}\nand on ${on} ${pod}\nunless on ${on} ${ready}`),
      this.#record('gap', `${missing} or ${unready}`),
      this.#alert('NodegapPodMissing', missing, hold, {
        summary: `Node ${node} runs without a pod of DaemonSet ${key}`,
        description: `${key} is meant to run on ${node}, which is Ready and past its grace, and has had no pod there for ${hold}.`,
        command: `nodegap explain ${node} ${key}`,
      }),
      this.#alert('NodegapPodNotReady', unready, hold, {
        summary: `The pod of DaemonSet ${key} on node ${node} is not Ready`,
        description: `The node is Ready and past its grace; no pod of ${key} there has been Ready for ${hold}.`,
        command: `nodegap explain ${node} ${key}`,
      }),
      this.#blind(eligible),
    ];
  }

  /** Where PromQL cannot tell its nodes: the DaemonSet's own status, which counts. */
  byCount(why: string): AlertingRule[] {
    const { scope } = this.#input;
    const desired = perCluster(
      scope,
      this.#status('kube_daemonset_status_desired_number_scheduled'),
    );
    const ready = perCluster(scope, this.#status('kube_daemonset_status_number_ready'));
    const hold = formatDuration(
      nodeAlertSeconds(this.#input.config) + this.#input.config.timings.nodeGrace,
    );
    return [
      this.#alert('NodegapDaemonSetShort', `${desired} - ${ready} > 0`, hold, {
        summary: `DaemonSet ${this.#key} lacks {{ $value }} Ready pods`,
        description: `Which nodes: the rules cannot tell, since ${why}.`,
        command: 'nodegap scan',
      }),
    ];
  }

  /** A required DaemonSet that is gone has no gap anywhere, which must not look like health. */
  absent(): AlertingRule {
    const { scope } = this.#input;
    const cluster = perCluster(scope, recordedNodes(scope, 'info'));
    return this.#alert(
      'NodegapDaemonSetAbsent',
      `${cluster}\nunless on ${labelsOf(scope)} ${this.#exists()}`,
      '5m',
      {
        summary: `Required DaemonSet ${this.#key} does not exist`,
        description: `If it was removed on purpose, make these rules again without it.`,
        command: 'nodegap config check nodegap.yaml',
      },
    );
  }

  /** Its nodes cannot be found although it has some: labels that kube-state-metrics does not show. */
  #blind({ needs }: Extract<Eligible, { kind: 'nodes' }>): AlertingRule {
    const { scope } = this.#input;
    const desired = perCluster(
      scope,
      this.#status('kube_daemonset_status_desired_number_scheduled'),
    );
    const found = `max by ${labelsOf(scope)} (${this.#recorded('eligible')})`;
    const flag = needs.length === 0 ? {} : { kube_state_metrics: allowListFlag(needs) };
    return this.#alert(
      'NodegapRulesBlind',
      `${desired} > 0\nunless on ${labelsOf(scope)} ${found}`,
      '15m',
      {
        summary: `The rules find no node of DaemonSet ${this.#key}, though it has some`,
        description: `Its other alerts cannot fire. Its selectors or tolerations have changed since the rules were made, or kube-state-metrics does not show the labels they need.`,
        command: 'nodegap rules prometheus',
        ...flag,
      },
    );
  }

  #record(what: string, expr: string): RecordingRule {
    return { record: `node_daemonset:nodegap_${what}:max`, expr, labels: { ...this.#labels } };
  }

  /** What this group has recorded. */
  #recorded(what: string): string {
    const { namespace, daemonset } = this.#labels;
    return selector(this.#input.scope, `node_daemonset:nodegap_${what}:max`, [
      { label: 'namespace', op: '=', value: namespace },
      { label: 'daemonset', op: '=', value: daemonset },
    ]);
  }

  #alert(
    alert: string,
    expr: string,
    hold: string,
    annotations: Record<string, string>,
  ): AlertingRule {
    return {
      alert,
      expr,
      for: hold,
      labels: { severity: this.#severity, ...this.#labels },
      annotations: { ...annotations, ...runbook(this.#input, alert) },
    };
  }

  /** Its pods that have not ended. */
  #pods(): string {
    const { scope } = this.#input;
    const on = labelsOf(scope, 'namespace', 'pod');
    const info = selector(scope, 'kube_pod_info', [
      this.#inNamespace(),
      { label: 'created_by_kind', op: '=', value: 'DaemonSet' },
      { label: 'created_by_name', op: '=', value: this.#labels.daemonset },
      { label: 'node', op: '!=', value: '' },
    ]);
    const ended = selector(scope, 'kube_pod_status_phase', [
      this.#inNamespace(),
      { label: 'phase', op: '=~', value: 'Failed|Succeeded' },
    ]);
    return `${info}\nunless on ${on} ${ended} == 1`;
  }

  #exists(): string {
    return perCluster(
      this.#input.scope,
      this.#status('kube_daemonset_status_desired_number_scheduled'),
    );
  }

  #status(metric: string): string {
    return selector(this.#input.scope, metric, [
      this.#inNamespace(),
      { label: 'daemonset', op: '=', value: this.#labels.daemonset },
    ]);
  }

  #inNamespace(): Matcher {
    return { label: 'namespace', op: '=', value: this.#labels.namespace };
  }
}
