import { CfnOutput } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { stateMachineArn, stateMachineName } from '../names.ts';
import type { ClusterSet } from './cluster-set.ts';
import { NodegapFunction, type Shared } from './nodegap-function.ts';

export interface ApprovalsProps {
  shared: Shared;
  sets: ClusterSet[];
}

/**
 * Where a person's answer arrives. It is called with IAM by the CLI, so who may answer is decided
 * by lambda:InvokeFunction on this function; the task token stays behind it.
 */
export class Approvals extends Construct {
  constructor(scope: Construct, id: string, { shared, sets }: ApprovalsProps) {
    super(scope, id);
    const answer = new NodegapFunction(this, 'Answer', {
      shared,
      name: 'answer-approval',
      timeoutSeconds: 30,
      memoryMb: 256,
    });
    shared.table.grant(answer.role, ['GetItem', 'Query', 'UpdateItem']);
    answer.role.addToPolicy(
      new PolicyStatement({
        actions: ['states:SendTaskSuccess'],
        resources: sets.map((set) =>
          stateMachineArn(this, stateMachineName(shared.prefix, set.network.name)),
        ),
      }),
    );
    new CfnOutput(this, 'AnswerFunction', {
      description: 'A person needs lambda:InvokeFunction on it to answer approvals',
      value: answer.function.functionArn,
    });
  }
}
