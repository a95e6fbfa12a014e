/** What calls of AWS fail with, in words that say what to do. */
import { messageOf, UsageError } from '../lib/errors.ts';

/** What was called, for the message. */
export interface AwsTarget {
  functionName: string;
  /** Undefined when only the AWS profile names it. */
  region: string | undefined;
}

const credentialFaults: Record<string, string> = {
  CredentialsProviderError: 'no AWS credentials',
  ExpiredToken: 'the AWS credentials have expired',
  ExpiredTokenException: 'the AWS credentials have expired',
  InvalidClientTokenId: 'AWS does not accept the credentials',
  UnrecognizedClientException: 'AWS does not accept the credentials',
  InvalidSignatureException: 'AWS does not accept the credentials',
};
const unreachable = ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'ETIMEDOUT'];

/** Runs `work`. @throws UsageError in place of what the AWS SDK throws for a wrong set-up. */
export async function withAwsFailures<T>(target: AwsTarget, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw explained(error, target) ?? error;
  }
}

function explained(cause: unknown, { functionName, region }: AwsTarget): UsageError | undefined {
  if (!(cause instanceof Error)) return undefined;
  const place = region ?? 'the region of your AWS profile';
  const { name, message } = cause;
  if (message === 'Region is missing') {
    return new UsageError('no AWS region', { cause, hint: '--region or AWS_REGION' });
  }
  if (message.startsWith('Region not accepted')) {
    return new UsageError(`"${place}" is not an AWS region`, {
      cause,
      hint: 'write for example eu-west-1',
    });
  }
  const fault = message.includes('Could not load credentials')
    ? 'no AWS credentials'
    : credentialFaults[name];
  if (fault !== undefined) {
    return new UsageError(fault, { cause, hint: 'aws sso login, or set AWS_PROFILE' });
  }
  if (name === 'ResourceNotFoundException') {
    const text = `there is no function ${functionName} in ${place}; is the stack deployed there?`;
    return new UsageError(text, { cause, hint: '--region and --function name another one' });
  }
  // STS, when the profile may not take its role; Lambda says AccessDeniedException.
  if (name === 'AccessDenied') return new UsageError(`AWS refuses: ${message}`, { cause });
  if (name === 'AccessDeniedException') {
    return new UsageError(`not allowed to call ${functionName} in ${place}`, {
      cause,
      hint: 'it needs lambda:InvokeFunction on that function',
    });
  }
  const code = 'code' in cause ? String(cause.code) : '';
  if (unreachable.includes(code)) {
    return new UsageError(`AWS cannot be reached in ${place}: ${messageOf(cause)}`, { cause });
  }
  return undefined;
}
