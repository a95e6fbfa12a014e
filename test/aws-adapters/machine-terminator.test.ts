import {
  AutoScalingClient,
  AutoScalingServiceException,
  ResourceContentionFault,
  ScalingActivityInProgressFault,
  TerminateInstanceInAutoScalingGroupCommand,
} from '@aws-sdk/client-auto-scaling';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { AutoScalingTerminator } from '../../lib/aws/machine-terminator.ts';

const scaling = mockClient(AutoScalingClient);
const terminator = new AutoScalingTerminator(new AutoScalingClient({ region: 'eu-west-1' }));
const id = 'i-0123456789abcdef0';
const info = { $metadata: {}, message: 'told by the mock' };

function refusal(name: string, message = 'told by the mock') {
  return new AutoScalingServiceException({ $metadata: {}, $fault: 'client', name, message });
}

beforeEach(() => {
  scaling.reset();
});

describe('terminate', () => {
  it('ends one instance and leaves the desired capacity alone (C91)', async () => {
    scaling.on(TerminateInstanceInAutoScalingGroupCommand).resolves({});
    expect(await terminator.terminate(id)).toBe('requested');
    expect(scaling.calls().map(({ args }) => args[0].input)).toEqual([
      { InstanceId: id, ShouldDecrementDesiredCapacity: false },
    ]);
  });

  it('is content with an instance that its group does not have any more', async () => {
    const message = `Instance Id not found - No managed instance found for instance ID: ${id}`;
    scaling
      .on(TerminateInstanceInAutoScalingGroupCommand)
      .rejects(refusal('ValidationError', message));
    expect(await terminator.terminate(id)).toBe('gone');
  });

  it.each([
    ['Machines.Busy', new ScalingActivityInProgressFault(info)],
    ['Machines.Busy', new ResourceContentionFault(info)],
    ['Machines.Unavailable', refusal('Throttling')],
    ['Machines.Denied', refusal('AccessDenied')],
    ['Machines.Refused', refusal('ValidationError', 'The instance is in a warm pool')],
  ])('throws %s', async (code, error) => {
    scaling.on(TerminateInstanceInAutoScalingGroupCommand).rejects(error);
    await expect(terminator.terminate(id)).rejects.toMatchObject({ code });
  });
});
