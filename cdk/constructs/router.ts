import type { Duration } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Construct } from 'constructs';
import { admitMachineName, stateMachineArn, stateMachineName } from '../names.ts';
import type { ClusterSet } from './cluster-set.ts';
import { NodegapFunction, type Shared } from './nodegap-function.ts';
import type { WorkQueue } from './queue.ts';

export interface RouterProps {
  shared: Shared;
  intake: WorkQueue;
  sets: ClusterSet[];
  timeout: Duration;
}

/**
 * Turns events into executions: it reads the intake queue, asks a function of a set to look again, or
 * starts the machine of the right set under the name that belongs to the attempt.
 */
export class Router extends Construct {
  constructor(scope: Construct, id: string, { shared, intake, sets, timeout }: RouterProps) {
    super(scope, id);
    const machines = Object.fromEntries(
      sets.map(({ network }) => [
        network.name,
        stateMachineArn(this, stateMachineName(shared.prefix, network.name)),
      ]),
    );
    const admitMachines = Object.fromEntries(
      sets.map(({ network }) => [
        network.name,
        stateMachineArn(this, admitMachineName(shared.prefix, network.name)),
      ]),
    );
    const scans = Object.fromEntries(
      sets.map(({ network, scan }) => [network.name, scan.functionName]),
    );
    const taintConditions = Object.fromEntries(
      sets.map((set) => [set.network.name, set.taintConditions.functionName]),
    );
    const { role, function: fn } = new NodegapFunction(this, 'Router', {
      shared,
      name: 'route-event',
      timeoutSeconds: timeout.toSeconds(),
      memoryMb: 256,
      environment: {
        STATE_MACHINES: JSON.stringify(machines),
        ADMIT_MACHINES: JSON.stringify(admitMachines),
        SCAN_FUNCTIONS: JSON.stringify(scans),
        TAINT_CONDITIONS_FUNCTIONS: JSON.stringify(taintConditions),
      },
    });
    shared.table.grant(role, ['GetItem', 'PutItem']);
    role.addToPolicy(
      new PolicyStatement({
        actions: ['states:StartExecution'],
        resources: [...Object.values(machines), ...Object.values(admitMachines)],
      }),
    );
    role.addToPolicy(
      new PolicyStatement({
        actions: ['lambda:InvokeFunction'],
        resources: sets.flatMap(({ scan, taintConditions }) => [
          scan.function.functionArn,
          taintConditions.function.functionArn,
        ]),
      }),
    );
    fn.addEventSource(
      new SqsEventSource(intake.queue, {
        batchSize: 10,
        reportBatchItemFailures: true,
        // A storm of events must not take the concurrency that the sets need.
        maxConcurrency: 5,
      }),
    );
  }
}
