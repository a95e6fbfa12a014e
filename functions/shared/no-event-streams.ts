/**
 * What bundles have in place of the SDK's event streams (cdk/bundling.ts). Every client carries
 * their code, 20 KiB of it, for operations that answer with a stream of events, such as Lambda's
 * InvokeWithResponseStream. nodegap calls none of them.
 */
import { NodegapError } from '../../lib/errors.ts';

/** The LambdaClient asks for both when it is made. */
export function resolveEventStreamSerdeConfig<T>(config: T): T {
  return config;
}

export function eventStreamSerdeProvider(): undefined {}

/** Made when the answer of an operation turns out to be a stream of events. */
export class EventStreamSerde {
  constructor() {
    throw new NodegapError('NoEventStreams', 'the bundle was made without event streams', {
      hint: 'take them out of the aliases in cdk/bundling.ts',
    });
  }
}
