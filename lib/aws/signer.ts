import { Sha256 } from '@smithy/core/checksum';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsCredentials } from './eks-token.ts';

/** Signs requests to one service of a region. */
export function signerFor(
  service: string,
  region: string,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
): SignatureV4 {
  return new SignatureV4({
    credentials: {
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
    },
    region,
    service,
    sha256: Sha256,
  });
}
