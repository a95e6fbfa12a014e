/**
 * The text of the state machines as they are deployed, made without AWS: the same construct in a small
 * app, with the references that CloudFormation would fill in.
 */
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { AdmitNodesMachine, admissionFunctionName } from '../cdk/workflow/admit-nodes.ts';
import {
  RemediateNodeMachine,
  type RemediateNodeMachineProps,
  workflowFunctionNames,
} from '../cdk/workflow/remediate-node.ts';

/** Where they are written and shipped, relative to the root of the project or package. */
export const workflowFile = 'dist/workflow/remediate-node.asl.json';
export const admitWorkflowFile = 'dist/workflow/admit-nodes.asl.json';

/** A region and account that no run of it reaches: runners match functions by their name. */
const env = { account: '000000000000', region: 'us-east-1' };

/** The name at the end of each function ARN is the name of the file in functions/. */
export function functionArn(name: string): string {
  return `arn:aws:lambda:${env.region}:${env.account}:function:${name}`;
}

/** The definition as pretty JSON with a final newline: what the file must hold. */
export function synthesizeWorkflow(): string {
  const stack = new Stack(new App({ analyticsReporting: false }), 'Workflow', { env });
  const imported = new Construct(stack, 'Functions');
  const functions = Object.fromEntries(
    workflowFunctionNames.map((name) => [
      name,
      LambdaFunction.fromFunctionArn(imported, name, functionArn(name)),
    ]),
  ) as RemediateNodeMachineProps['functions'];
  new RemediateNodeMachine(stack, 'RemediateNode', {
    stateMachineName: 'remediate-node',
    functions,
    logGroup: new LogGroup(stack, 'Logs'),
  });
  return definitionIn(stack);
}

/** The same of the machine that admits new nodes. */
export function synthesizeAdmitWorkflow(): string {
  const stack = new Stack(new App({ analyticsReporting: false }), 'Workflow', { env });
  new AdmitNodesMachine(stack, 'AdmitNodes', {
    stateMachineName: admissionFunctionName,
    function: LambdaFunction.fromFunctionArn(stack, 'Fn', functionArn(admissionFunctionName)),
    logGroup: new LogGroup(stack, 'Logs'),
  });
  return definitionIn(stack);
}

function definitionIn(stack: Stack): string {
  const machines = Template.fromStack(stack).findResources('AWS::StepFunctions::StateMachine');
  const [machine] = Object.values(machines);
  const definition: unknown = JSON.parse(resolveText(machine?.Properties?.DefinitionString));
  return `${JSON.stringify(definition, null, 2)}\n`;
}

/** Fills in the few references that a definition without resources of its own can hold. */
function resolveText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null) {
    if ('Ref' in value && value.Ref === 'AWS::Partition') return 'aws';
    if ('Fn::Join' in value && Array.isArray(value['Fn::Join'])) {
      const [separator, parts] = value['Fn::Join'];
      if (typeof separator === 'string' && Array.isArray(parts)) {
        return parts.map(resolveText).join(separator);
      }
    }
  }
  throw new Error(`the definition holds a reference that is not known: ${JSON.stringify(value)}`);
}
