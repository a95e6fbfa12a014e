import { readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { addStacks } from '../../cdk/stacks.ts';

export interface Resource {
  Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: templates have no types, and tests read them freely
  Properties: any;
  DeletionPolicy?: string;
  DependsOn?: string[];
}

export interface Statement {
  Effect: 'Allow' | 'Deny';
  Action: string | string[];
  Resource: unknown;
  Condition?: unknown;
}

const { context } = JSON.parse(
  readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'),
) as { context: Record<string, unknown> };

/** The text of fleet.yaml, which CI synthesizes too. */
export const fleet = readFileSync(new URL('fleet.yaml', import.meta.url), 'utf8');

/** The templates of the stacks that a configuration asks for, by stack id, without bundles. */
export function synthesize(text: string, deployingAccount?: string): Record<string, Template> {
  const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } });
  const stacks = addStacks(app, { text, fileName: 'nodegap.yaml', deployingAccount });
  return Object.fromEntries(stacks.map((stack) => [stack.node.id, Template.fromStack(stack)]));
}

export function resourcesOf(template: Template, type: string): Record<string, Resource> {
  return template.findResources(type) as Record<string, Resource>;
}

/** Every function by its name in AWS. */
export function functionsOf(template: Template): Map<string, Resource> {
  const functions = Object.values(resourcesOf(template, 'AWS::Lambda::Function'));
  return new Map(functions.map((each) => [each.Properties.FunctionName as string, each]));
}

/** Logical id of the role of a function. */
export function roleOf(template: Template, functionName: string): string {
  const role = functionsOf(template).get(functionName)?.Properties.Role;
  if (role === undefined) throw new Error(`there is no function ${functionName}`);
  return role['Fn::GetAtt'][0];
}

/** All that the role with that logical id may do. */
export function statementsOf(template: Template, role: string): Statement[] {
  return Object.values(resourcesOf(template, 'AWS::IAM::Policy'))
    .filter(({ Properties }) => Properties.Roles.some((each: { Ref: string }) => each.Ref === role))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement as Statement[]);
}

/** The functions whose role may call `action`. */
export function functionsThatMay(template: Template, action: string): string[] {
  return [...functionsOf(template).keys()]
    .filter((name) =>
      statementsOf(template, roleOf(template, name)).some(
        (each) => each.Effect === 'Allow' && [each.Action].flat().includes(action),
      ),
    )
    .sort();
}

/** The text of a value with references shown as `<Id>` or `<Id.Attribute>`. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const [[intrinsic, argument] = ['', undefined]] = Object.entries(value ?? {});
  if (intrinsic === 'Ref') return `<${argument}>`;
  if (intrinsic === 'Fn::GetAtt') return `<${(argument as string[]).join('.')}>`;
  if (intrinsic === 'Fn::Join') {
    const [separator, parts] = argument as [string, unknown[]];
    return parts.map(textOf).join(separator);
  }
  throw new Error(`no text for ${JSON.stringify(value)}`);
}
