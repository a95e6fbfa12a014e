import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { Effect, PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { configPartition } from '../../lib/config/store.ts';

const readActions = ['dynamodb:GetItem', 'dynamodb:Query'];
/** TransactWriteItems has no action of its own: each of its writes is authorised as itself. */
const writeActions = [
  'dynamodb:ConditionCheckItem',
  'dynamodb:DeleteItem',
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
];

/**
 * The durable state: gap records, slots, breakers, attempts, approvals, and the configuration. It
 * outlives the stack, since it is the record of what was done to whose nodes.
 */
export class StateTable extends Construct {
  readonly table: Table;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.table = new Table(this, 'Table', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      encryption: TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: 'ttl',
      removalPolicy: RemovalPolicy.RETAIN,
    });
  }

  get name(): string {
    return this.table.tableName;
  }

  grantRead(role: Role): void {
    role.addToPolicy(this.#allow(readActions));
  }

  /** Reads everything and writes everything but the configuration. */
  grantWrite(role: Role): void {
    role.addToPolicy(this.#allow([...readActions, ...writeActions]));
    role.addToPolicy(
      new PolicyStatement({
        effect: Effect.DENY,
        actions: writeActions,
        resources: [this.table.tableArn],
        conditions: { 'ForAnyValue:StringEquals': { 'dynamodb:LeadingKeys': [configPartition] } },
      }),
    );
  }

  /** Reads and writes the configuration, and nothing else. */
  grantConfigWrite(role: Role): void {
    const statement = this.#allow([...readActions, ...writeActions]);
    // Null: without it a call that has no leading key would pass ForAllValues.
    statement.addConditions({
      'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [configPartition] },
      Null: { 'dynamodb:LeadingKeys': 'false' },
    });
    role.addToPolicy(statement);
  }

  #allow(actions: string[]): PolicyStatement {
    return new PolicyStatement({ actions, resources: [this.table.tableArn] });
  }
}
