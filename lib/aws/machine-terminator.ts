import {
  type AutoScalingClient,
  ResourceContentionFault,
  ScalingActivityInProgressFault,
  TerminateInstanceInAutoScalingGroupCommand,
} from '@aws-sdk/client-auto-scaling';
import { messageOf, NodegapError } from '../errors.ts';
import type { MachineTerminator } from '../machines.ts';
import { failureOf, nameOf } from './machine-failure.ts';

/** Ends instances through their Auto Scaling group, never past it through EC2. */
export class AutoScalingTerminator implements MachineTerminator {
  readonly #client: AutoScalingClient;

  constructor(client: AutoScalingClient) {
    this.#client = client;
  }

  async terminate(id: string): Promise<'requested' | 'gone'> {
    try {
      await this.#client.send(
        new TerminateInstanceInAutoScalingGroupCommand({
          InstanceId: id,
          // The group has to make a new one: its capacity is not ours to change.
          ShouldDecrementDesiredCapacity: false,
        }),
      );
      return 'requested';
    } catch (cause) {
      if (
        cause instanceof ScalingActivityInProgressFault ||
        cause instanceof ResourceContentionFault
      ) {
        throw new NodegapError('Machines.Busy', `the group of ${id} is at work`, { cause });
      }
      if (nameOf(cause) !== 'ValidationError') throw failureOf(`${id} was not ended`, cause);
      // Auto Scaling has no error of its own for an instance that it does not know.
      if (/not found|no managed instance/i.test(messageOf(cause))) return 'gone';
      throw new NodegapError(
        'Machines.Refused',
        `Auto Scaling does not end ${id}: ${messageOf(cause)}`,
        { cause },
      );
    }
  }
}
