import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { ISecurityGroup, ISubnet, IVpc } from 'aws-cdk-lib/aws-ec2';
import type { EventBus } from 'aws-cdk-lib/aws-events';
import { Effect, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, type IFunction, LoggingFormat, Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { bundling } from '../bundling.ts';
import { publicNetwork } from '../installations.ts';
import { acknowledgeWildcard } from '../nag.ts';
import type { Notices } from './notices.ts';
import type { StateTable } from './state-table.ts';

const projectRoot = join(import.meta.dirname, '../..');

const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as {
  version: string;
};

/** Logs are kept as long as Step Functions keeps the history of an execution. */
export const logRetention = RetentionDays.THREE_MONTHS;

/** What all functions of an installation share. */
export interface Shared {
  /** First part of every name: the name of the stack. */
  prefix: string;
  table: StateTable;
  notices: Notices;
  bus: EventBus;
}

/** Where the functions of a private network run. */
export interface Placement {
  vpc: IVpc;
  subnets: ISubnet[];
  securityGroups: ISecurityGroup[];
}

export interface NodegapFunctionProps {
  shared: Shared;
  /** The file in functions/, without `.ts`. */
  name: string;
  /** `public` for the functions outside the sets. */
  network?: string;
  /** Name in AWS; `<prefix>-<name>` when absent. */
  functionName?: string;
  timeoutSeconds: number;
  memoryMb: number;
  environment?: Record<string, string>;
  placement?: Placement | undefined;
}

/**
 * One function with a role and a log group of its own. The role may write that log group and
 * nothing else until someone grants it more.
 */
export class NodegapFunction extends Construct {
  readonly role: Role;
  readonly function: IFunction;
  readonly functionName: string;

  constructor(scope: Construct, id: string, props: NodegapFunctionProps) {
    super(scope, id);
    const { shared, placement } = props;
    this.functionName = props.functionName ?? `${shared.prefix}-${props.name}`;
    const logGroup = new LogGroup(this, 'Logs', {
      logGroupName: `/aws/lambda/${this.functionName}`,
      retention: logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `nodegap: ${this.functionName}`,
    });
    this.role.addToPolicy(
      new PolicyStatement({
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [logGroup.logGroupArn],
      }),
    );
    if (placement !== undefined) this.#letLambdaAttachToVpc();
    this.function = new NodejsFunction(this, 'Function', {
      functionName: this.functionName,
      entry: join(projectRoot, 'functions', `${props.name}.ts`),
      projectRoot,
      depsLockFilePath: join(projectRoot, 'package-lock.json'),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      timeout: Duration.seconds(props.timeoutSeconds),
      memorySize: props.memoryMb,
      role: this.role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      environment: { ...this.#environment(props), ...props.environment },
      awsSdkConnectionReuse: false,
      bundling,
      ...(placement === undefined
        ? {}
        : {
            vpc: placement.vpc,
            vpcSubnets: { subnets: placement.subnets },
            securityGroups: placement.securityGroups,
          }),
    });
  }

  #environment({ shared, network }: NodegapFunctionProps): Record<string, string> {
    const { account, region, stackName } = Stack.of(this);
    return {
      TABLE_NAME: shared.table.name,
      TOPIC_ARN: shared.notices.topic.topicArn,
      BUS_NAME: shared.bus.eventBusName,
      INSTALLATION: `${account}/${region}/${stackName}`,
      NETWORK: network ?? publicNetwork,
      NODEGAP_VERSION: version,
      POWERTOOLS_SERVICE_NAME: 'nodegap',
      POWERTOOLS_METRICS_NAMESPACE: 'nodegap',
      POWERTOOLS_LOG_LEVEL: 'INFO',
    };
  }

  /**
   * Lambda makes the network interfaces with the function's role. The deny keeps the code itself
   * from using these rights: calls from inside a function carry lambda:SourceFunctionArn.
   * https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html
   */
  #letLambdaAttachToVpc(): void {
    const actions = [
      'ec2:AssignPrivateIpAddresses',
      'ec2:CreateNetworkInterface',
      'ec2:DeleteNetworkInterface',
      'ec2:DescribeNetworkInterfaces',
      'ec2:DescribeSubnets',
      'ec2:UnassignPrivateIpAddresses',
    ];
    const code = Stack.of(this).formatArn({
      service: 'lambda',
      resource: `function:${this.functionName}`,
    });
    this.role.addToPolicy(new PolicyStatement({ actions, resources: ['*'] }));
    this.role.addToPolicy(
      new PolicyStatement({
        effect: Effect.DENY,
        actions,
        resources: ['*'],
        conditions: { ArnEquals: { 'lambda:SourceFunctionArn': code } },
      }),
    );
    acknowledgeWildcard(
      this.role,
      '*',
      'Lambda needs these EC2 rights on all resources to attach a function to a VPC; the code itself is denied them.',
    );
  }
}
