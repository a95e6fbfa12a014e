/** Where evidence is kept, bound to AWS: for the functions that drain and replace. */
import { S3Client } from '@aws-sdk/client-s3';
import { S3Evidence } from '../../lib/aws/s3-evidence.ts';
import { NodegapError } from '../../lib/errors.ts';
import type { EvidenceStore } from '../../lib/ports.ts';
import type { CorePorts } from './aws-ports.ts';

function evidence({ environment }: CorePorts): EvidenceStore {
  const { EVIDENCE_BUCKET: bucket, AWS_REGION: region } = environment;
  if (bucket === undefined) {
    throw new NodegapError('BadEnvironment', 'environment variable EVIDENCE_BUCKET: is not set');
  }
  // A checksum of its own on top is what the SDK adds by itself; TLS and S3's own are enough.
  const client = new S3Client({
    region,
    maxAttempts: 3,
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
  return new S3Evidence(client, { bucket, region });
}

function version({ environment }: CorePorts): string {
  return environment.NODEGAP_VERSION ?? 'unknown';
}

export const evidenceKeeping = { evidence, version };
