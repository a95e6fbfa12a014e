import { RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { Effect, PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { configPartition } from '../../lib/config/store.ts';
import type { TableAction } from '../functions.ts';

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

  /**
   * Those actions on everything, or on those partitions alone, but no write of the configuration.
   */
  grant(role: Role, actions: readonly TableAction[], partitions?: readonly string[]): void {
    const statement = this.#allow(actions);
    if (partitions !== undefined) bindTo(statement, partitions);
    role.addToPolicy(statement);
    const writes = actions.filter((action) => !readActions.has(action));
    if (writes.length === 0) return;
    role.addToPolicy(
      new PolicyStatement({
        effect: Effect.DENY,
        actions: writes.map(qualified),
        resources: [this.table.tableArn],
        conditions: { 'ForAnyValue:StringEquals': { 'dynamodb:LeadingKeys': [configPartition] } },
      }),
    );
  }

  /** Writes the configuration, and nothing else. */
  grantConfigWrite(role: Role): void {
    const statement = this.#allow(['PutItem']);
    bindTo(statement, [configPartition]);
    role.addToPolicy(statement);
  }

  #allow(actions: readonly TableAction[]): PolicyStatement {
    return new PolicyStatement({
      actions: actions.map(qualified),
      resources: [this.table.tableArn],
    });
  }
}

function bindTo(statement: PolicyStatement, partitions: readonly string[]): void {
  // Null: without it a call that has no leading key would pass ForAllValues.
  statement.addConditions({
    'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [...partitions] },
    Null: { 'dynamodb:LeadingKeys': 'false' },
  });
}

const readActions: ReadonlySet<TableAction> = new Set(['GetItem', 'Query']);

function qualified(action: TableAction): string {
  return `dynamodb:${action}`;
}
