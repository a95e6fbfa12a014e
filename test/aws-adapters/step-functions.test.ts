import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  type ExecutionStatus,
  GetExecutionHistoryCommand,
  InvalidToken,
  SendTaskSuccessCommand,
  SFNClient,
  SFNServiceException,
  StartExecutionCommand,
  TaskDoesNotExist,
  TaskTimedOut,
} from '@aws-sdk/client-sfn';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { StepFunctionsWorkflow } from '../../lib/aws/step-functions.ts';

const sfn = mockClient(SFNClient);
const info = { $metadata: {}, message: 'told by the mock' };
const denied = new SFNServiceException({ ...info, name: 'AccessDenied', $fault: 'client' });

const networks: Record<string, string> = { prod: 'public', inner: 'vpc-a', lost: 'vpc-b' };
const workflow = new StepFunctionsWorkflow(new SFNClient({ region: 'eu-west-1' }), {
  networkOf: (cluster) => networks[cluster],
  machines: { public: 'arn:machine:public', 'vpc-a': 'arn:machine:vpc-a' },
});

beforeEach(() => {
  sfn.reset();
});

const input = { cluster: 'prod', node: 'n1', nodeUid: 'uid-1', episode: 1, attempt: 2 };

describe('start', () => {
  it('starts on the machine of the network of the cluster', async () => {
    sfn.on(StartExecutionCommand).resolves({});
    await expect(workflow.start('prod', 'name', input)).resolves.toBe('started');
    await workflow.start('inner', 'name', { ...input, cluster: 'inner' });
    const calls = sfn.commandCalls(StartExecutionCommand).map(({ args }) => args[0].input);
    expect(calls[0]).toEqual({
      stateMachineArn: 'arn:machine:public',
      name: 'name',
      input: '{"cluster":"prod","node":"n1","nodeUid":"uid-1","episode":1,"attempt":2}',
    });
    expect(calls[1]).toMatchObject({ stateMachineArn: 'arn:machine:vpc-a' });
  });

  it('sends a repeated start byte by byte the same, however the input is built', async () => {
    sfn.on(StartExecutionCommand).resolves({});
    const { cluster, ...rest } = input;
    const shuffled = { more: 'than asked', ...rest, cluster };
    await workflow.start('prod', 'name', input);
    await workflow.start('prod', 'name', shuffled);
    const [first, second] = sfn.commandCalls(StartExecutionCommand);
    expect(second?.args[0].input).toEqual(first?.args[0].input);
  });

  it('finds no error in a name that was used', async () => {
    sfn.on(StartExecutionCommand).rejects(new ExecutionAlreadyExists(info));
    await expect(workflow.start('prod', 'name', input)).resolves.toBe('exists');
  });

  it('throws everything else', async () => {
    sfn.on(StartExecutionCommand).rejects(denied);
    await expect(workflow.start('prod', 'name', input)).rejects.toBe(denied);
  });

  it.each([
    ['unknown', 'no state machine works on cluster unknown: the configuration does not name it'],
    ['lost', 'no state machine works on cluster lost: nothing is deployed for its network vpc-b'],
  ])('says why nothing works on cluster %s', async (cluster, message) => {
    await expect(workflow.start(cluster, 'name', input)).rejects.toMatchObject({
      code: 'Workflow.NoStateMachine',
      message,
    });
    expect(sfn.calls()).toEqual([]);
  });
});

describe('status', () => {
  const stopDate = new Date('2026-11-30T12:00:00.500Z');

  it.each(['RUNNING', 'PENDING_REDRIVE'] satisfies ExecutionStatus[])(
    'is running for %s',
    async (status) => {
      sfn.on(DescribeExecutionCommand).resolves({ status });
      await expect(workflow.status('arn')).resolves.toEqual({ kind: 'running' });
    },
  );

  it.each(['SUCCEEDED', 'FAILED', 'TIMED_OUT', 'ABORTED'] satisfies ExecutionStatus[])(
    'is ended for %s, with the time',
    async (status) => {
      sfn.on(DescribeExecutionCommand).resolves({ status, stopDate });
      await expect(workflow.status('arn')).resolves.toEqual({
        kind: 'ended',
        endedAt: stopDate.getTime(),
        status,
      });
    },
  );

  it('is not found for an execution that does not exist', async () => {
    sfn.on(DescribeExecutionCommand).rejects(new ExecutionDoesNotExist(info));
    await expect(workflow.status('arn')).resolves.toEqual({ kind: 'not-found' });
  });

  it('throws when nothing can be learnt', async () => {
    sfn.on(DescribeExecutionCommand).rejectsOnce(denied).resolves({ status: 'FAILED' });
    await expect(workflow.status('arn')).rejects.toBe(denied);
    await expect(workflow.status('arn')).rejects.toMatchObject({ code: 'Workflow.NoEnd' });
  });
});

describe('stateOf', () => {
  const timestamp = new Date('2026-11-30T12:00:00Z');
  it('is the state that was entered last, of the newest events', async () => {
    const entered = (name: string) => ({
      type: 'TaskStateEntered' as const,
      id: 1,
      timestamp,
      stateEnteredEventDetails: { name },
    });
    const other = { type: 'TaskScheduled' as const, id: 2, timestamp };
    sfn
      .on(GetExecutionHistoryCommand, { executionArn: 'arn', reverseOrder: true })
      .resolves({ events: [other, entered('DrainNode'), entered('TaintNode')] });
    await expect(workflow.stateOf('arn')).resolves.toBe('DrainNode');
  });

  it('is unknown without such an event, and for an execution that does not exist', async () => {
    sfn
      .on(GetExecutionHistoryCommand)
      .resolvesOnce({ events: [] })
      .rejectsOnce(new ExecutionDoesNotExist(info))
      .rejects(denied);
    await expect(workflow.stateOf('arn')).resolves.toBeUndefined();
    await expect(workflow.stateOf('arn')).resolves.toBeUndefined();
    await expect(workflow.stateOf('arn')).rejects.toBe(denied);
  });
});

describe('answer', () => {
  it('sends the output to the waiting task', async () => {
    sfn.on(SendTaskSuccessCommand).resolves({});
    await expect(workflow.answer('token', { decision: 'approve' })).resolves.toBe(true);
    expect(sfn.commandCalls(SendTaskSuccessCommand)[0]?.args[0].input).toEqual({
      taskToken: 'token',
      output: '{"decision":"approve"}',
    });
  });

  it.each([new TaskTimedOut(info), new TaskDoesNotExist(info), new InvalidToken(info)])(
    'is false when the task no longer waits: $name',
    async (error) => {
      sfn.on(SendTaskSuccessCommand).rejects(error);
      await expect(workflow.answer('token', {})).resolves.toBe(false);
    },
  );

  it('throws everything else', async () => {
    sfn.on(SendTaskSuccessCommand).rejects(denied);
    await expect(workflow.answer('token', {})).rejects.toBe(denied);
  });
});
