import { CfnOutput } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { acknowledgeWildcard } from '../nag.ts';
import { executionArns, stateMachineName } from '../names.ts';
import type { ClusterSet } from './cluster-set.ts';
import { NodegapFunction, type Shared } from './nodegap-function.ts';

export interface OperationsProps {
  shared: Shared;
  sets: ClusterSet[];
}

/**
 * What people look at and switch by the CLI: `nodegap status`, and pause, resume, trip, reset. Two
 * functions, so that lambda:InvokeFunction decides who may look and who may switch.
 */
export class Operations extends Construct {
  constructor(scope: Construct, id: string, { shared, sets }: OperationsProps) {
    super(scope, id);
    const status = new NodegapFunction(this, 'Status', {
      shared,
      name: 'show-status',
      timeoutSeconds: 30,
      memoryMb: 512,
    });
    shared.table.grant(status.role, ['GetItem', 'Query']);
    const executions = sets.map((set) =>
      executionArns(this, stateMachineName(shared.prefix, set.network.name)),
    );
    status.role.addToPolicy(
      new PolicyStatement({ actions: ['states:GetExecutionHistory'], resources: executions }),
    );
    for (const each of executions) {
      acknowledgeWildcard(
        status.role,
        each,
        'Executions of the machines of this stack: their names are made at run time.',
      );
    }
    const holds = new NodegapFunction(this, 'Holds', {
      shared,
      name: 'set-hold',
      timeoutSeconds: 30,
      memoryMb: 256,
    });
    shared.table.grant(holds.role, ['GetItem', 'PutItem', 'DeleteItem']);
    new CfnOutput(this, 'StatusFunction', {
      description: 'A person needs lambda:InvokeFunction on it for nodegap status',
      value: status.function.functionArn,
    });
    new CfnOutput(this, 'HoldsFunction', {
      description: 'A person needs lambda:InvokeFunction on it to pause, resume, trip and reset',
      value: holds.function.functionArn,
    });
  }
}
