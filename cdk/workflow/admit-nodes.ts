/**
 * The `admit-nodes` state machine: passes over the nodes of one cluster that bear a startup taint,
 * until there are none. The function judges and acts; the Choice only follows its `next`. The
 * function starts the successor of a long execution itself (docs/workflow.md).
 */
import { Duration } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import {
  Fail,
  type IChainable,
  JsonPath,
  type StateMachine,
  Succeed,
  TaskInput,
  Timeout,
  Wait,
  WaitTime,
} from 'aws-cdk-lib/aws-stepfunctions';
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import { addRetries, follow, loggedMachine } from './states.ts';

export const admissionFunctionName = 'admit-nodes';

export interface AdmitNodesMachineProps {
  stateMachineName: string;
  function: IFunction;
  logGroup: ILogGroup;
}

/** Longer than the timeout of the function, so that the function ends first. */
const taskTimeout = Duration.seconds(90);

/** 180 passes, 30 seconds apart at most, with room for passes that have to be tried again. */
const executionTimeout = Duration.hours(6);

export class AdmitNodesMachine extends Construct {
  readonly stateMachine: StateMachine;

  constructor(scope: Construct, id: string, props: AdmitNodesMachineProps) {
    super(scope, id);
    this.stateMachine = loggedMachine(this, {
      name: props.stateMachineName,
      first: admitNodes(this, props.function),
      timeout: executionTimeout,
      logGroup: props.logGroup,
    });
  }
}

/** Builds the states inside `scope` and returns the first one. */
export function admitNodes(scope: Construct, lambdaFunction: IFunction): IChainable {
  const failed = new Fail(scope, 'Failed', {
    errorPath: '$.failure.Error',
    causePath: '$.failure.Cause',
  });
  const admitPass = new LambdaInvoke(scope, 'AdmitPass', {
    lambdaFunction,
    payloadResponseOnly: true,
    payload: TaskInput.fromObject({
      state: JsonPath.entirePayload,
      execution: JsonPath.executionId,
    }),
    resultPath: '$.pass',
    taskTimeout: Timeout.duration(taskTimeout),
  });
  addRetries(admitPass);
  admitPass.addCatch(failed, { resultPath: '$.failure' });
  const wait = new Wait(scope, 'WaitForPass', {
    time: WaitTime.secondsPath('$.pass.waitSeconds'),
  });
  follow(scope, admitPass, '$.pass.next', { again: wait }, new Succeed(scope, 'Done'));
  wait.next(admitPass);
  return admitPass;
}
