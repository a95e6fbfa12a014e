import { ArnFormat, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { PolicyStatement, type Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';

export interface NoticesProps {
  /** The names of the alarms that may publish begin with it. */
  prefix: string;
}

/**
 * The topic through which people hear of alerts, approvals, reports and alarms. Notices carry
 * message attributes, so that a subscription can filter them.
 *
 * It has a key of its own: with the key that AWS manages for SNS, alarms cannot publish.
 * https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html
 */
export class Notices extends Construct {
  readonly topic: Topic;
  readonly #key: Key;

  constructor(scope: Construct, id: string, { prefix }: NoticesProps) {
    super(scope, id);
    this.#key = new Key(this, 'Key', {
      description: 'nodegap: notices to people',
      enableKeyRotation: true,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.topic = new Topic(this, 'Topic', {
      displayName: 'nodegap',
      masterKey: this.#key,
      enforceSSL: true,
    });
    this.#letAlarmsPublish(prefix);
  }

  grantPublish(role: Role): void {
    role.addToPolicy(
      new PolicyStatement({ actions: ['sns:Publish'], resources: [this.topic.topicArn] }),
    );
    // https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html: what a publisher needs.
    role.addToPolicy(
      new PolicyStatement({
        actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
        resources: [this.#key.keyArn],
      }),
    );
  }

  #letAlarmsPublish(prefix: string): void {
    const stack = Stack.of(this);
    const alarms = stack.formatArn({
      service: 'cloudwatch',
      resource: 'alarm',
      resourceName: `${prefix}-*`,
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    const conditions = {
      StringEquals: { 'aws:SourceAccount': stack.account },
      ArnLike: { 'aws:SourceArn': alarms },
    };
    const principals = [new ServicePrincipal('cloudwatch.amazonaws.com')];
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        principals,
        actions: ['sns:Publish'],
        resources: [this.topic.topicArn],
        conditions,
      }),
    );
    this.#key.addToResourcePolicy(
      new PolicyStatement({
        principals,
        actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
        resources: ['*'],
        conditions,
      }),
    );
  }
}
