/**
 * Names and ARNs that are known before the resources exist. Functions of a set learn the ARN of
 * the machine that calls them this way: a reference would be a circle.
 */
import { ArnFormat, Stack } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

export function stateMachineName(prefix: string, network: string): string {
  return `${prefix}-${network}-remediate-node`;
}

/** Of the machine that admits new nodes. */
export function admitMachineName(prefix: string, network: string): string {
  return `${prefix}-${network}-admit-nodes`;
}

export function setFunctionName(prefix: string, network: string, name: string): string {
  return `${prefix}-${network}-${name}`;
}

export function stateMachineArn(scope: IConstruct, name: string): string {
  return statesArn(scope, 'stateMachine', name);
}

/** All executions of the machine; their names are not known beforehand. */
export function executionArns(scope: IConstruct, stateMachine: string): string {
  return `${statesArn(scope, 'execution', stateMachine)}:*`;
}

function statesArn(scope: IConstruct, resource: string, resourceName: string): string {
  return Stack.of(scope).formatArn({
    service: 'states',
    resource,
    resourceName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
}
