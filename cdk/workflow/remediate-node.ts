/**
 * The `remediate-node` state machine, in the words an auditor sees in the console.
 *
 * How it works: every judgement is made by a Lambda handler, which reads everything afresh and
 * answers with a flat object whose `next` names what to do; the Choices only follow it. Results
 * stay under their own key (`$.confirm`, `$.slot`, `$.isolation`, `$.recovery`, …) so that Report
 * can tell the whole story and no state overwrites another's facts.
 *
 * Gotchas:
 * - JSONPath, no Assign, flat scalar Choices: the local runner and moto run exactly this text.
 * - Each Wait takes its seconds from the state before it, and each loop has a deadline and a
 *   counter inside the handler that closes it (docs/workflow.md has the table).
 * - A Catch leads to ReleaseSlot and Report, never to ReleaseNode: after a failure nothing is
 *   known, so the node stays as it is and the next scan takes it up (safety rule 10).
 */
import { Duration } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import {
  Choice,
  Condition,
  Fail,
  type IChainable,
  IntegrationPattern,
  JsonPath,
  Pass,
  Result,
  type StateMachine,
  Succeed,
  TaskInput,
  Timeout,
  Wait,
  WaitTime,
} from 'aws-cdk-lib/aws-stepfunctions';
import { LambdaInvoke } from 'aws-cdk-lib/aws-stepfunctions-tasks';
import { Construct } from 'constructs';
import { executionSeconds } from '../../lib/config/semantics.ts';
import { addRetries, follow, loggedMachine } from './states.ts';

/** The functions that the machine calls; the names are those of the files in functions/. */
export const workflowFunctionNames = [
  'confirm-gap',
  'acquire-slot',
  'isolate-node',
  'check-recovery',
  'restart-daemon-pod',
  'request-approval',
  'taint-node',
  'drain-node',
  'replace-node',
  'verify-replacement',
  'release-node',
  'release-slot',
  'report',
] as const;
export type WorkflowFunctionName = (typeof workflowFunctionNames)[number];

export interface RemediateNodeMachineProps {
  stateMachineName: string;
  functions: Record<WorkflowFunctionName, IFunction>;
  logGroup: ILogGroup;
}

/** Longer than the timeout of every function, so that the function ends first. */
const taskTimeout = Duration.seconds(90);

/** The configuration is held to it (lib/config/semantics.ts). */
const executionTimeout = Duration.seconds(executionSeconds);

export class RemediateNodeMachine extends Construct {
  readonly stateMachine: StateMachine;

  constructor(scope: Construct, id: string, props: RemediateNodeMachineProps) {
    super(scope, id);
    this.stateMachine = loggedMachine(this, {
      name: props.stateMachineName,
      first: remediateNode(this, props.functions),
      timeout: executionTimeout,
      logGroup: props.logGroup,
    });
  }
}

/** Builds the states inside `scope` and returns the first one. */
export function remediateNode(
  scope: Construct,
  functions: Record<WorkflowFunctionName, IFunction>,
): IChainable {
  const done = new Succeed(scope, 'Done');
  const failed = new Fail(scope, 'Failed', {
    errorPath: '$.failure.Error',
    causePath: '$.failure.Cause',
  });

  const task = (name: string, fn: WorkflowFunctionName, resultPath: string): LambdaInvoke => {
    const state = new LambdaInvoke(scope, name, {
      lambdaFunction: functions[fn],
      payloadResponseOnly: true,
      payload: TaskInput.fromObject({
        state: JsonPath.entirePayload,
        execution: JsonPath.executionId,
      }),
      resultPath,
      taskTimeout: Timeout.duration(taskTimeout),
    });
    addRetries(state);
    return state;
  };
  const wait = (name: string, secondsPath: string): Wait =>
    new Wait(scope, name, { time: WaitTime.secondsPath(secondsPath) });

  const confirmGap = task('ConfirmGap', 'confirm-gap', '$.confirm');
  const acquireSlot = task('AcquireSlot', 'acquire-slot', '$.slot');
  const isolateNode = task('IsolateNode', 'isolate-node', '$.isolation');
  const checkRecovery = task('CheckRecovery', 'check-recovery', '$.recovery');
  const restartDaemonPod = task('RestartDaemonPod', 'restart-daemon-pod', '$.restart');
  const takePlaceAgain = task('TakePlaceAgain', 'acquire-slot', '$.place');
  const taintNode = task('TaintNode', 'taint-node', '$.taint');
  const drainNode = task('DrainNode', 'drain-node', '$.drain');
  const replaceNode = task('ReplaceNode', 'replace-node', '$.replacement');
  const verifyReplacement = task('VerifyReplacement', 'verify-replacement', '$.verification');
  const releaseNode = task('ReleaseNode', 'release-node', '$.release');
  const releaseSlot = task('ReleaseSlot', 'release-slot', '$.slotRelease');
  const report = task('Report', 'report', '$.report');

  const ask = (name: string, question: 'replace' | 'drain-blocked', secondsPath: string) =>
    new LambdaInvoke(scope, name, {
      lambdaFunction: functions['request-approval'],
      integrationPattern: IntegrationPattern.WAIT_FOR_TASK_TOKEN,
      payload: TaskInput.fromObject({
        state: JsonPath.entirePayload,
        execution: JsonPath.executionId,
        question,
        taskToken: JsonPath.taskToken,
      }),
      resultPath: '$.answer',
      taskTimeout: Timeout.at(secondsPath),
    });
  const waitForPerson = ask('WaitForPerson', 'replace', '$.recovery.approvalSeconds');
  addRetries(waitForPerson, { alsoTimeouts: false });
  const waitForPersonAboutDrain = ask(
    'WaitForPersonAboutDrain',
    'drain-blocked',
    '$.drain.approvalSeconds',
  );
  addRetries(waitForPersonAboutDrain, { alsoTimeouts: false });

  const nobodyAnswered = (name: string) =>
    new Pass(scope, name, {
      result: Result.fromObject({ decision: 'none', by: 'nobody' }),
      resultPath: '$.answer',
    });
  const noAnswerIsNo = nobodyAnswered('NoAnswerIsNo');
  const nobodyFreedTheDrain = nobodyAnswered('NobodyFreedTheDrain');

  const waitForRecovery = wait('WaitForRecovery', '$.isolation.waitSeconds');
  const waitForDrain = wait('WaitForDrain', '$.drain.waitSeconds');
  const waitForReplacement = wait('WaitForReplacement', '$.verification.waitSeconds');
  const waitForPlace = wait('WaitForPlace', '$.place.waitSeconds');

  follow(scope, confirmGap, '$.confirm.next', { act: acquireSlot, release: releaseNode }, report);
  follow(scope, acquireSlot, '$.slot.next', { acquired: isolateNode }, report);
  follow(scope, isolateNode, '$.isolation.next', { isolated: waitForRecovery }, releaseNode);
  waitForRecovery.next(checkRecovery);
  follow(
    scope,
    checkRecovery,
    '$.recovery.next',
    {
      wait: waitForRecovery,
      restart: restartDaemonPod,
      ask: waitForPerson,
      taint: taintNode,
      drain: drainNode,
      'stay-isolated': releaseSlot,
    },
    releaseNode,
  );
  restartDaemonPod.next(waitForRecovery);
  follow(scope, waitForPerson, '$.answer.decision', { approve: takePlaceAgain }, releaseNode);
  noAnswerIsNo.next(releaseNode);
  const afterPlace = new Choice(scope, 'WhatWasAnswered')
    .when(Condition.stringEquals('$.answer.decision', 'retry'), drainNode)
    .when(Condition.stringEquals('$.answer.decision', 'proceed'), replaceNode)
    .otherwise(checkRecovery);
  follow(
    scope,
    takePlaceAgain,
    '$.place.next',
    { acquired: afterPlace, wait: waitForPlace },
    releaseNode,
  );
  waitForPlace.next(takePlaceAgain);
  follow(
    scope,
    taintNode,
    '$.taint.next',
    { tainted: drainNode, 'not-now': waitForRecovery, 'stay-isolated': releaseSlot },
    releaseNode,
  );
  follow(
    scope,
    drainNode,
    '$.drain.next',
    {
      draining: waitForDrain,
      drained: replaceNode,
      recheck: waitForRecovery,
      blocked: waitForPersonAboutDrain,
      'stay-isolated': releaseSlot,
    },
    releaseNode,
  );
  waitForDrain.next(drainNode);
  follow(
    scope,
    waitForPersonAboutDrain,
    '$.answer.decision',
    { retry: takePlaceAgain, proceed: takePlaceAgain },
    releaseNode,
  );
  nobodyFreedTheDrain.next(releaseSlot);
  follow(
    scope,
    replaceNode,
    '$.replacement.next',
    {
      requested: verifyReplacement,
      'not-now': waitForRecovery,
      'stay-isolated': releaseSlot,
    },
    releaseNode,
  );
  follow(
    scope,
    verifyReplacement,
    '$.verification.next',
    { wait: waitForReplacement },
    releaseSlot,
  );
  waitForReplacement.next(verifyReplacement);
  releaseNode.next(releaseSlot);
  releaseSlot.next(report);
  follow(scope, report, '$.report.next', { failed }, done);

  waitForPerson.addCatch(noAnswerIsNo, { errors: ['States.Timeout'], resultPath: '$.noAnswer' });
  waitForPersonAboutDrain.addCatch(nobodyFreedTheDrain, {
    errors: ['States.Timeout'],
    resultPath: '$.noAnswer',
  });
  for (const state of [
    confirmGap,
    acquireSlot,
    isolateNode,
    checkRecovery,
    restartDaemonPod,
    waitForPerson,
    takePlaceAgain,
    taintNode,
    drainNode,
    waitForPersonAboutDrain,
    replaceNode,
    verifyReplacement,
    releaseNode,
  ]) {
    state.addCatch(releaseSlot, { resultPath: '$.failure' });
  }
  releaseSlot.addCatch(report, { resultPath: '$.failure' });
  report.addCatch(failed, { resultPath: '$.failure' });
  return confirmGap;
}
