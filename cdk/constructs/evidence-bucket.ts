import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { evidencePrefix } from '../../lib/evidence/key.ts';
import { acknowledgeWildcard } from '../nag.ts';

export interface EvidenceBucketProps {
  /** Days after which a document goes away. */
  expireDays: number;
}

/**
 * What nodes were before they were drained and replaced. It outlives the stack, like the state
 * table: it is the record of what was done to whose nodes, and empties itself by its expiry.
 *
 * Versioned, so that a document that somebody writes over or deletes is still there until it
 * expires. Encrypted with S3's own key: a key of KMS would be one more thing that can keep a drain
 * from going on, and who may read the bucket is decided by IAM in any case.
 */
export class EvidenceBucket extends Construct {
  readonly bucket: Bucket;

  constructor(scope: Construct, id: string, { expireDays }: EvidenceBucketProps) {
    super(scope, id);
    this.bucket = new Bucket(this, 'Bucket', {
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      versioned: true,
      lifecycleRules: [
        {
          id: 'expire',
          expiration: Duration.days(expireDays),
          noncurrentVersionExpiration: Duration.days(expireDays),
          abortIncompleteMultipartUploadAfter: Duration.days(1),
        },
        // S3 takes this and an age only in rules of their own.
        { id: 'markers', expiredObjectDeleteMarker: true },
      ],
      removalPolicy: RemovalPolicy.RETAIN,
    });
    Validations.of(this.bucket).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Access is told by CloudTrail data events, where an account wants them; access logs would need a second bucket that keeps who read for nobody.',
    });
  }

  get name(): string {
    return this.bucket.bucketName;
  }

  /** To write new documents, and nothing else: none can be read, changed or deleted. */
  grantSave(role: Role): void {
    const resource = this.bucket.arnForObjects(`${evidencePrefix}*`);
    role.addToPolicy(new PolicyStatement({ actions: ['s3:PutObject'], resources: [resource] }));
    acknowledgeWildcard(
      role,
      resource,
      'The documents of evidence: their names are made at run time, and all begin with the prefix.',
    );
  }
}
