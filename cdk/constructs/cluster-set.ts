import { CfnOutput, Duration, Fn, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { SecurityGroup, Subnet, Vpc } from 'aws-cdk-lib/aws-ec2';
import { PolicyStatement, type Role } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { StateMachine } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import type { NetworkConfig } from '../../lib/config/model.ts';
import {
  type ClusterRole,
  type FunctionAccess,
  type SetFunctionName,
  setFunctions,
  sizeOf,
} from '../functions.ts';
import type { ClusterNetwork } from '../installations.ts';
import { acknowledgeWildcard } from '../nag.ts';
import {
  admitMachineName,
  executionArns,
  setFunctionName,
  stateMachineArn,
  stateMachineName,
} from '../names.ts';
import { AdmitNodesMachine, admissionFunctionName } from '../workflow/admit-nodes.ts';
import { RemediateNodeMachine, workflowFunctionNames } from '../workflow/remediate-node.ts';
import type { ApprovalPage } from './approval-page.ts';
import type { EventIntake } from './event-intake.ts';
import type { EvidenceBucket } from './evidence-bucket.ts';
import { grantMachines } from './machine-rights.ts';
import { letReadNodeGroups } from './node-group-rights.ts';
import { logRetention, NodegapFunction, type Placement, type Shared } from './nodegap-function.ts';

export interface ClusterSetProps {
  shared: Shared;
  events: EventIntake;
  network: ClusterNetwork;
  evidence: EvidenceBucket;
  /** Where links of notices lead; undefined when there is no such page. */
  approvalPage: ApprovalPage | undefined;
}

/**
 * Everything that touches the clusters of one network: the functions and the state machine that
 * calls them. In a private network only the functions that call a cluster are in the VPC.
 */
export class ClusterSet extends Construct {
  readonly network: ClusterNetwork;
  readonly scan: NodegapFunction;
  readonly audit: NodegapFunction;
  readonly taintConditions: NodegapFunction;
  readonly stateMachine: StateMachine;
  /** The machine that admits new nodes. */
  readonly admitMachine: StateMachine;
  /** The roles that call the clusters, by the name of their function. */
  readonly clusterRoles = new Map<string, { role: Role; as: ClusterRole }>();

  constructor(scope: Construct, id: string, props: ClusterSetProps) {
    super(scope, id);
    this.network = props.network;
    const functions = this.#functions(props);
    this.scan = functions['scan-cluster'];
    this.audit = functions['audit-cluster'];
    this.taintConditions = functions['taint-conditions'];
    for (const { function: fn } of [this.scan, this.taintConditions]) {
      // The next scan comes soon, and it sees more than a late one.
      fn.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(1) });
    }
    this.stateMachine = this.#machine(props.shared.prefix, functions);
    this.admitMachine = this.#admitMachine(props.shared.prefix, functions);
    new CfnOutput(this, 'RequestFunction', {
      description: `A person needs lambda:InvokeFunction on it for nodegap request, in network ${this.network.name}`,
      value: functions['request-node'].function.functionArn,
    });
    this.#printRoles();
  }

  #functions(props: ClusterSetProps): Record<SetFunctionName, NodegapFunction> {
    const placement = placementIn(this, props.network.vpc);
    const functions = Object.entries(setFunctions).map(([name, access]) => [
      name,
      this.#function(props, name, access, access.cluster === undefined ? undefined : placement),
    ]);
    return Object.fromEntries(functions);
  }

  #function(
    { shared, events, network, evidence, approvalPage }: ClusterSetProps,
    name: string,
    access: FunctionAccess,
    placement: Placement | undefined,
  ): NodegapFunction {
    const made = new NodegapFunction(this, name, {
      shared,
      name,
      network: network.name,
      functionName: setFunctionName(shared.prefix, network.name, name),
      ...sizeOf(name, access),
      environment: {
        ...(access.links && approvalPage !== undefined
          ? { APPROVAL_PAGE_URL: approvalPage.url }
          : {}),
        ...(access.savesEvidence ? { EVIDENCE_BUCKET: evidence.name } : {}),
        ...(access.startsAdmissions
          ? { ADMIT_MACHINES: JSON.stringify({ [network.name]: this.#admitArn(shared.prefix) }) }
          : {}),
      },
      placement,
    });
    shared.table.grant(made.role, access.table);
    if (access.notifies) shared.notices.grantPublish(made.role);
    if (access.emits) events.grantPut(made.role);
    if (access.readsExecutions) {
      this.#letReadExecutions(made.role, shared.prefix, 'states:DescribeExecution');
    }
    if (access.readsSteps) {
      this.#letReadExecutions(made.role, shared.prefix, 'states:GetExecutionHistory');
    }
    if (access.startsAdmissions) {
      const resources = [this.#admitArn(shared.prefix)];
      made.role.addToPolicy(new PolicyStatement({ actions: ['states:StartExecution'], resources }));
    }
    if (access.readsAwsWork) letReadAwsWork(made.role, network);
    if (access.asksEc2) letAskEc2(made.role);
    if (access.readsNodeGroups) letReadNodeGroups(made.role, network);
    if (access.machines) grantMachines(made.role, access.machines, network);
    if (access.savesEvidence) evidence.grantSave(made.role);
    if (access.closesQuestions) {
      const machine = stateMachineArn(this, stateMachineName(shared.prefix, network.name));
      made.role.addToPolicy(
        new PolicyStatement({ actions: ['states:SendTaskSuccess'], resources: [machine] }),
      );
    }
    if (access.cluster !== undefined) {
      made.role.addToPolicy(
        new PolicyStatement({
          actions: ['eks:DescribeCluster'],
          resources: network.clusters.map((cluster) =>
            Stack.of(this).formatArn({
              service: 'eks',
              resource: 'cluster',
              resourceName: cluster.name,
            }),
          ),
        }),
      );
      this.clusterRoles.set(name, { role: made.role, as: access.cluster });
    }
    return made;
  }

  #admitArn(prefix: string): string {
    return stateMachineArn(this, admitMachineName(prefix, this.network.name));
  }

  #machineLogs(id: string, name: string): LogGroup {
    return new LogGroup(this, id, {
      // Names outside /aws/vendedlogs fill up the account's one log resource policy:
      // https://docs.aws.amazon.com/step-functions/latest/dg/cw-logs.html
      logGroupName: `/aws/vendedlogs/states/${name}`,
      retention: logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
  }

  #admitMachine(prefix: string, functions: Record<SetFunctionName, NodegapFunction>): StateMachine {
    const name = admitMachineName(prefix, this.network.name);
    const fn = functions[admissionFunctionName].function;
    const { stateMachine } = new AdmitNodesMachine(this, 'AdmitNodes', {
      stateMachineName: name,
      function: fn,
      logGroup: this.#machineLogs('AdmitMachineLogs', name),
    });
    acknowledgeMachine(stateMachine, [fn]);
    return stateMachine;
  }

  #machine(prefix: string, functions: Record<SetFunctionName, NodegapFunction>): StateMachine {
    const name = stateMachineName(prefix, this.network.name);
    const callable = Object.fromEntries(
      workflowFunctionNames.map((fn) => [fn, functions[fn].function]),
    ) as Record<(typeof workflowFunctionNames)[number], IFunction>;
    const { stateMachine } = new RemediateNodeMachine(this, 'RemediateNode', {
      stateMachineName: name,
      functions: callable,
      logGroup: this.#machineLogs('MachineLogs', name),
    });
    acknowledgeMachine(stateMachine, Object.values(callable));
    return stateMachine;
  }

  #letReadExecutions(role: Role, prefix: string, action: string): void {
    const resource = executionArns(this, stateMachineName(prefix, this.network.name));
    role.addToPolicy(new PolicyStatement({ actions: [action], resources: [resource] }));
    acknowledgeWildcard(
      role,
      resource,
      'Executions of the machine of this set: their names are made at run time.',
    );
  }

  /** For clusters whose access entries are made elsewhere (manageAccessEntries: false). */
  #printRoles(): void {
    for (const as of ['reader', 'auditor', 'reporter', 'actuator'] as const) {
      const arns = [...this.clusterRoles.values()]
        .filter((entry) => entry.as === as)
        .map(({ role }) => role.roleArn);
      new CfnOutput(this, `${as}Roles`, {
        description: `Roles to be members of nodegap:${as} in the clusters of network ${this.network.name}`,
        value: Fn.join(' ', arns),
      });
    }
  }
}

function acknowledgeMachine({ role }: StateMachine, functions: readonly IFunction[]): void {
  acknowledgeWildcard(
    role,
    '*',
    'Step Functions delivers logs and traces by actions that have no resource-level permission.',
  );
  for (const fn of functions) {
    acknowledgeWildcard(
      role,
      `${fn.functionArn}:*`,
      'CDK lets the machine call every version of the functions that are its own tasks.',
    );
  }
}

/** The status of node groups, and the zonal shifts of the region: these know no resource. */
function letReadAwsWork(role: Role, { clusters }: ClusterNetwork): void {
  const groups = clusters.map(({ name }) =>
    Stack.of(role).formatArn({
      service: 'eks',
      resource: 'nodegroup',
      resourceName: `${name}/*/*`,
    }),
  );
  role.addToPolicy(new PolicyStatement({ actions: ['eks:DescribeNodegroup'], resources: groups }));
  role.addToPolicy(
    new PolicyStatement({
      actions: ['arc-zonal-shift:ListAutoshifts', 'arc-zonal-shift:ListZonalShifts'],
      resources: ['*'],
    }),
  );
  for (const group of groups) {
    acknowledgeWildcard(role, group, 'The node groups of one cluster: they come and go.');
  }
  acknowledgeWildcard(role, '*', 'Lists of zonal shifts have no resource-level permission.');
}

/** A read of EC2, which knows no resource for it. */
function letAskEc2(role: Role): void {
  role.addToPolicy(
    new PolicyStatement({ actions: ['ec2:DescribeInstanceStatus'], resources: ['*'] }),
  );
  acknowledgeWildcard(role, '*', 'DescribeInstanceStatus has no resource-level permission.');
}

function placementIn(scope: Construct, network: NetworkConfig | undefined): Placement | undefined {
  if (network === undefined) return undefined;
  return {
    vpc: Vpc.fromVpcAttributes(scope, 'Vpc', {
      vpcId: network.vpcId,
      availabilityZones: network.availabilityZones,
    }),
    subnets: network.subnetIds.map((subnetId, i) => {
      const availabilityZone = network.availabilityZones[i];
      const subnet = Subnet.fromSubnetAttributes(scope, subnetId, {
        subnetId,
        ...(availabilityZone === undefined ? {} : { availabilityZone }),
      });
      Validations.of(subnet).acknowledge({
        id: '@aws-cdk/aws-ec2:noSubnetRouteTableId',
        reason: 'Only the id is used: functions are placed in the subnet, routes stay as they are.',
      });
      return subnet;
    }),
    securityGroups: network.securityGroupIds.map((groupId) =>
      SecurityGroup.fromSecurityGroupId(scope, groupId, groupId, { mutable: false }),
    ),
  };
}
