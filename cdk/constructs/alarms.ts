import { Duration } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { ClusterSet } from './cluster-set.ts';
import type { Notices } from './notices.ts';

export interface AlarmsProps {
  prefix: string;
  notices: Notices;
  deadLetters: Record<string, Queue>;
  sets: ClusterSet[];
  /** Seconds between two scans. */
  scanSeconds: number;
}

/** What must not stay unseen when nodegap itself is unwell. */
export class Alarms extends Construct {
  readonly #props: AlarmsProps;

  constructor(scope: Construct, id: string, props: AlarmsProps) {
    super(scope, id);
    this.#props = props;
    for (const [name, queue] of Object.entries(props.deadLetters)) {
      this.#alarm(`${name}-dead-letters`, {
        says: `Events could not be handled (${name}). Read the messages, mend the cause, redrive.`,
        metric: queue.metricApproximateNumberOfMessagesVisible({
          period: Duration.minutes(1),
          statistic: 'Maximum',
        }),
        above: 0,
        periods: 1,
      });
    }
    for (const set of props.sets) this.#watch(set);
  }

  #watch(set: ClusterSet): void {
    const network = set.network.name;
    this.#alarm(`${network}-scan-errors`, {
      says: `Scans fail in network ${network}: its clusters are not watched. See the log of the scan function.`,
      metric: set.scan.function.metricErrors({ period: Duration.minutes(1) }),
      above: 0,
      periods: 3,
    });
    this.#alarm(`${network}-audit-errors`, {
      says: `The daily audit fails in network ${network}, or for some of its clusters. See the log of the audit function.`,
      metric: set.audit.function.metricErrors({ period: Duration.hours(1) }),
      above: 0,
      periods: 1,
    });
    this.#alarm(`${network}-taint-conditions-errors`, {
      says: `Runs of taint-conditions fail in network ${network}, or may not change some node: condition taints neither come nor go there. See the log of the taint-conditions function.`,
      metric: set.taintConditions.function.metricErrors({ period: Duration.minutes(5) }),
      above: 0,
      periods: 3,
    });
    const window = Duration.seconds(Math.max(300, 5 * this.#props.scanSeconds));
    this.#alarm(`${network}-scan-silent`, {
      says: `No scan has run in network ${network} for ${window.toMinutes()} minutes. Is the schedule on?`,
      // A sum of nothing is no data, which is exactly what this alarm is about.
      metric: new MathExpression({
        expression: '1 - MIN([1, FILL(runs, 0)])',
        usingMetrics: { runs: set.scan.function.metricInvocations({ period: window }) },
        label: 'silent',
        period: window,
      }),
      above: 0,
      periods: 1,
      missing: TreatMissingData.BREACHING,
    });
    this.#alarm(`${network}-executions-failed`, {
      says: `Executions of ${network} ended without doing their work. See the Step Functions console.`,
      metric: endedBadly(set.stateMachine),
      above: 0,
      periods: 1,
    });
    this.#alarm(`${network}-admissions-failed`, {
      says: `Executions of admit-nodes of ${network} failed: new nodes keep their startup taints meanwhile. See the log of the admit-nodes function.`,
      metric: endedBadly(set.admitMachine),
      above: 0,
      periods: 1,
    });
    for (const { name } of set.network.clusters) {
      const worst = (metricName: string) =>
        new Metric({
          namespace: 'nodegap',
          metricName,
          dimensionsMap: { cluster: name, service: 'nodegap' },
          statistic: 'Maximum',
          period: Duration.minutes(5),
        });
      this.#alarm(`${network}-${name}-overdue-nodes`, {
        says: `New nodes of ${name} have not proved themselves by their deadline. Their Events NodegapStartupOverdue say why.`,
        metric: worst('OverdueNodes'),
        above: 0,
        periods: 1,
      });
      this.#alarm(`${network}-${name}-refused-nodes`, {
        says: `nodegap may not take startup taints off nodes of ${name} that have proved themselves. The log of the admit-nodes function says who refuses it.`,
        metric: worst('AdmissionRefused'),
        above: 0,
        periods: 1,
      });
    }
  }

  #alarm(
    name: string,
    what: {
      says: string;
      metric: IMetric;
      above: number;
      periods: number;
      missing?: TreatMissingData;
    },
  ): void {
    const alarm = new Alarm(this, name, {
      alarmName: `${this.#props.prefix}-${name}`,
      alarmDescription: what.says,
      metric: what.metric,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      threshold: what.above,
      evaluationPeriods: what.periods,
      treatMissingData: what.missing ?? TreatMissingData.NOT_BREACHING,
    });
    const toPeople = new SnsAction(this.#props.notices.topic);
    alarm.addAlarmAction(toPeople);
    alarm.addOkAction(toPeople);
  }
}

function endedBadly(machine: StateMachine): IMetric {
  const period = Duration.minutes(5);
  return new MathExpression({
    expression: 'failed + timedOut + aborted',
    usingMetrics: {
      failed: machine.metricFailed({ period }),
      timedOut: machine.metricTimedOut({ period }),
      aborted: machine.metricAborted({ period }),
    },
    label: 'ended badly',
    period,
  });
}
