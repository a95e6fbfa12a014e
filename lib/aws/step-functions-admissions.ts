import { ExecutionAlreadyExists, type SFNClient, StartExecutionCommand } from '@aws-sdk/client-sfn';
import type { AdmissionInput, AdmissionWorkflow } from '../prevention/admit/workflow.ts';
import { type MachineDirectory, machineOf } from './step-functions.ts';

/** `admit-nodes` on Step Functions. `machines` of the directory are its ARNs by network. */
export class StepFunctionsAdmissions implements AdmissionWorkflow {
  readonly #client: SFNClient;
  readonly #directory: MachineDirectory;

  constructor(client: SFNClient, directory: MachineDirectory) {
    this.#client = client;
    this.#directory = directory;
  }

  /** @throws NodegapError `Workflow.NoStateMachine` when no machine works on that cluster. */
  async start(
    cluster: string,
    name: string,
    { number }: AdmissionInput,
  ): Promise<'started' | 'exists'> {
    const stateMachineArn = await machineOf(this.#directory, cluster);
    try {
      // Word by word: a repeated start must be byte-identical to count as the same.
      const input = JSON.stringify({ cluster, number });
      await this.#client.send(new StartExecutionCommand({ stateMachineArn, name, input }));
      return 'started';
    } catch (error) {
      if (error instanceof ExecutionAlreadyExists) return 'exists';
      throw error;
    }
  }
}
