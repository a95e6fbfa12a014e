import { CfnOutput, Duration, Stack, type StackProps } from 'aws-cdk-lib';
import { ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import type { Construct } from 'constructs';
import type { EvidenceConfig, Timings } from '../lib/config/model.ts';
import { AccessEntries } from './constructs/access-entries.ts';
import { Alarms } from './constructs/alarms.ts';
import { ApprovalPage } from './constructs/approval-page.ts';
import { Approvals } from './constructs/approvals.ts';
import { ClusterSchedules, daily } from './constructs/cluster-schedules.ts';
import { ClusterSet } from './constructs/cluster-set.ts';
import { type ConfigDocument, ConfigPublication } from './constructs/config-publication.ts';
import { EventIntake } from './constructs/event-intake.ts';
import { EvidenceBucket } from './constructs/evidence-bucket.ts';
import { Janitor } from './constructs/janitor.ts';
import type { Shared } from './constructs/nodegap-function.ts';
import { Notices } from './constructs/notices.ts';
import { Operations } from './constructs/operations.ts';
import { deadLetterQueue, WorkQueue } from './constructs/queue.ts';
import { Router } from './constructs/router.ts';
import { StateTable } from './constructs/state-table.ts';
import type { Installation } from './installations.ts';

export interface NodegapStackProps extends StackProps {
  installation: Installation;
  timings: Timings;
  evidence: EvidenceConfig;
  /** Whether notices carry links to a page that takes answers. */
  approvalLink: boolean;
  document: ConfigDocument;
}

const routerTimeout = Duration.seconds(30);

/** Everything of nodegap in one account and region. */
export class NodegapStack extends Stack {
  constructor(scope: Construct, id: string, props: NodegapStackProps) {
    super(scope, id, {
      description: 'nodegap: finds and repairs nodes that run without their DaemonSets',
      ...props,
    });
    const prefix = this.stackName;
    const table = new StateTable(this, 'State');
    const notices = new Notices(this, 'Notices', { prefix });
    const intake = new WorkQueue(this, 'Intake', {
      queueName: `${prefix}-events`,
      functionTimeout: routerTimeout,
      // Hints grow stale; what a scan or a person said is said again.
      retention: Duration.hours(4),
    });
    const events = new EventIntake(this, 'Events', { busName: prefix, intake });
    const shared: Shared = { prefix, table, notices, bus: events.bus };
    const config = new ConfigPublication(this, 'Config', { shared, document: props.document });
    const evidence = new EvidenceBucket(this, 'Evidence', props.evidence);
    const scanDeadLetters = deadLetterQueue(this, 'ScanDeadLetters', `${prefix}-scan-dead-letters`);

    const approvalPage = props.approvalLink
      ? new ApprovalPage(this, 'ApprovalPage', {
          shared,
          networks: props.installation.networks.map(({ name }) => name),
        })
      : undefined;

    const sets = props.installation.networks.map((network) => {
      const set = new ClusterSet(this, `Set-${network.name}`, {
        shared,
        events,
        network,
        evidence,
        approvalPage,
      });
      const schedules = new ClusterSchedules(set, 'Schedules', {
        prefix,
        job: 'scan',
        function: set.scan.function,
        clusters: network.clusters,
        when: () => ScheduleExpression.rate(Duration.seconds(props.timings.scan)),
        deadLetters: scanDeadLetters,
      });
      const audits = new ClusterSchedules(set, 'AuditSchedules', {
        prefix,
        job: 'audit',
        function: set.audit.function,
        clusters: network.clusters,
        when: daily,
        deadLetters: scanDeadLetters,
      });
      schedules.node.addDependency(config.resource);
      audits.node.addDependency(config.resource);
      for (const cluster of network.clusters.filter((each) => each.manageAccessEntries)) {
        const entries = new AccessEntries(set, `Access-${cluster.name}`, {
          cluster,
          roles: set.clusterRoles,
        });
        schedules.node.addDependency(entries);
        audits.node.addDependency(entries);
      }
      return set;
    });

    const router = new Router(this, 'Route', { shared, intake, sets, timeout: routerTimeout });
    router.node.addDependency(config.resource);
    const janitor = new Janitor(this, 'Clean', { shared, sets });
    new Approvals(this, 'Approvals', { shared, sets });
    const operations = new Operations(this, 'Operations', { shared, sets });
    operations.node.addDependency(config.resource);
    new Alarms(this, 'Alarms', {
      prefix,
      notices,
      deadLetters: {
        events: intake.deadLetters,
        janitor: janitor.queue.deadLetters,
        scan: scanDeadLetters,
      },
      sets,
      scanSeconds: props.timings.scan,
    });

    new CfnOutput(this, 'TableName', { value: table.name });
    new CfnOutput(this, 'TopicArn', {
      description: 'Subscribe to hear of alerts, approvals and alarms',
      value: notices.topic.topicArn,
    });
    new CfnOutput(this, 'EvidenceBucket', {
      description: 'What nodes were before they were drained and replaced',
      value: evidence.name,
    });
    new CfnOutput(this, 'BusName', { value: events.bus.eventBusName });
  }
}
