import { PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { messageOf, NodegapError } from '../errors.ts';
import type { Evidence, SavedEvidence } from '../evidence/document.ts';
import { evidenceKey, evidencePrefix } from '../evidence/key.ts';
import type { EvidenceStore } from '../ports.ts';

export interface S3EvidenceOptions {
  bucket: string;
  region: string;
  /** For one document, all tries of the SDK included; 10 s when absent. */
  timeoutMs?: number;
}

/**
 * Evidence in a bucket, which encrypts and expires it (cdk/constructs/evidence-bucket.ts). A key is
 * written once: S3 refuses the second write with 412, which is as good as the first.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
 */
export class S3Evidence implements EvidenceStore {
  readonly #client: Pick<S3Client, 'send'>;
  readonly #options: S3EvidenceOptions;

  constructor(client: Pick<S3Client, 'send'>, options: S3EvidenceOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** @throws NodegapError `Evidence.Unavailable` when it could not be saved. */
  async save(evidence: Evidence): Promise<SavedEvidence> {
    const { bucket, region, timeoutMs = 10_000 } = this.#options;
    const key = `${evidencePrefix}${evidenceKey(evidence)}`;
    try {
      await this.#client.send(
        new PutObjectCommand({
          Bucket: bucket,
          Key: key,
          Body: JSON.stringify(evidence, null, 2),
          ContentType: 'application/json',
          IfNoneMatch: '*',
        }),
        { abortSignal: AbortSignal.timeout(timeoutMs) },
      );
    } catch (cause) {
      if (!isThereAlready(cause)) {
        const message = `bucket ${bucket} did not take it: ${messageOf(cause)}`;
        throw new NodegapError('Evidence.Unavailable', message, { cause });
      }
    }
    return { location: `s3://${bucket}/${key}`, link: objectLink({ bucket, region, key }) };
  }
}

function isThereAlready(error: unknown): boolean {
  const { name, $metadata } = error as {
    name?: string;
    $metadata?: { httpStatusCode?: number };
  };
  return name === 'PreconditionFailed' || $metadata?.httpStatusCode === 412;
}

/** The page of an object in the S3 console. */
function objectLink({ bucket, region, key }: { bucket: string; region: string; key: string }) {
  const query = new URLSearchParams({ region, prefix: key });
  return `https://${region}.${consoleOf(region)}/s3/object/${bucket}?${query}`;
}

/** https://docs.aws.amazon.com/whitepapers/latest/aws-fault-isolation-boundaries/partitions.html */
function consoleOf(region: string): string {
  if (region.startsWith('cn-')) return 'console.amazonaws.cn';
  return region.startsWith('us-gov-') ? 'console.amazonaws-us-gov.com' : 'console.aws.amazon.com';
}
