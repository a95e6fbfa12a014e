import {
  DescribeExecutionCommand,
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  GetExecutionHistoryCommand,
  InvalidToken,
  SendTaskSuccessCommand,
  type SFNClient,
  StartExecutionCommand,
  TaskDoesNotExist,
  TaskTimedOut,
} from '@aws-sdk/client-sfn';
import { NodegapError } from '../errors.ts';
import type { AttemptInput, ExecutionStatus, Workflow } from '../ports.ts';

/** Which state machine works on which cluster: one a network. */
export interface MachineDirectory {
  /** The network of a configured cluster. */
  networkOf(cluster: string): Promise<string | undefined> | string | undefined;
  /** ARN of the state machine by network. */
  machines: Readonly<Record<string, string>>;
}

/** The workflow on Step Functions. */
export class StepFunctionsWorkflow implements Workflow {
  readonly #client: SFNClient;
  readonly #directory: MachineDirectory;

  constructor(client: SFNClient, directory: MachineDirectory) {
    this.#client = client;
    this.#directory = directory;
  }

  /**
   * An open execution of that name with the same input is answered as started, one that ended as
   * `exists`: that is how StartExecution tells them apart.
   * @throws NodegapError `Workflow.NoStateMachine` when no machine works on that cluster.
   */
  async start(cluster: string, name: string, input: AttemptInput): Promise<'started' | 'exists'> {
    const stateMachineArn = await machineOf(this.#directory, cluster);
    // Built word by word: a repeated start must be byte-identical to count as the same.
    const { node, nodeUid, episode, attempt } = input;
    const text = JSON.stringify({ cluster: input.cluster, node, nodeUid, episode, attempt });
    try {
      await this.#client.send(new StartExecutionCommand({ stateMachineArn, name, input: text }));
      return 'started';
    } catch (error) {
      if (error instanceof ExecutionAlreadyExists) return 'exists';
      throw error;
    }
  }

  async status(executionArn: string): Promise<ExecutionStatus> {
    try {
      const { status, stopDate } = await this.#client.send(
        new DescribeExecutionCommand({ executionArn }),
      );
      if (status === undefined || status === 'RUNNING' || status === 'PENDING_REDRIVE') {
        return { kind: 'running' };
      }
      if (stopDate === undefined) {
        throw new NodegapError(
          'Workflow.NoEnd',
          `execution ${executionArn} is ${status} but has no end`,
        );
      }
      return { kind: 'ended', endedAt: stopDate.getTime(), status };
    } catch (error) {
      if (error instanceof ExecutionDoesNotExist) return { kind: 'not-found' };
      throw error;
    }
  }

  /** A waiting or failing execution has a handful of events since it entered its last state. */
  async stateOf(executionArn: string): Promise<string | undefined> {
    try {
      const { events = [] } = await this.#client.send(
        new GetExecutionHistoryCommand({
          executionArn,
          reverseOrder: true,
          maxResults: 50,
          includeExecutionData: false,
        }),
      );
      return events.find(({ stateEnteredEventDetails }) => stateEnteredEventDetails !== undefined)
        ?.stateEnteredEventDetails?.name;
    } catch (error) {
      if (error instanceof ExecutionDoesNotExist) return undefined;
      throw error;
    }
  }

  async answer(taskToken: string, output: Record<string, unknown>): Promise<boolean> {
    try {
      await this.#client.send(
        new SendTaskSuccessCommand({ taskToken, output: JSON.stringify(output) }),
      );
      return true;
    } catch (error) {
      const noLongerWaits =
        error instanceof TaskTimedOut ||
        error instanceof TaskDoesNotExist ||
        error instanceof InvalidToken;
      if (noLongerWaits) return false;
      throw error;
    }
  }
}

/**
 * The machine that works on a cluster.
 * @throws NodegapError `Workflow.NoStateMachine` when there is none.
 */
export async function machineOf(directory: MachineDirectory, cluster: string): Promise<string> {
  const network = await directory.networkOf(cluster);
  const arn = network === undefined ? undefined : directory.machines[network];
  if (arn !== undefined) return arn;
  const why =
    network === undefined
      ? 'the configuration does not name it'
      : `nothing is deployed for its network ${network}`;
  throw new NodegapError(
    'Workflow.NoStateMachine',
    `no state machine works on cluster ${cluster}: ${why}`,
    { hint: 'deploy again after a change of clusters or networks' },
  );
}
