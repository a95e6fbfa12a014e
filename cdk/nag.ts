/** Acknowledgements of findings, each for one construct, one finding and one reason. */
import { Stack, Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/**
 * Accepts one resource with a wildcard in the policies of `scope`. cdk-nag names each finding by
 * the resource, with references printed as `<LogicalId.Attribute>`.
 */
export function acknowledgeWildcard(scope: IConstruct, resource: string, reason: string): void {
  const printed = print(Stack.of(scope).resolve(resource));
  Validations.of(scope).acknowledge({ id: `AwsSolutions-IAM5[Resource::${printed}]`, reason });
}

function print(value: unknown): string {
  if (typeof value === 'string') return value;
  const [[intrinsic, argument] = []] = Object.entries(value ?? {});
  if (intrinsic === 'Ref') return `<${String(argument)}>`;
  if (intrinsic === 'Fn::GetAtt' && Array.isArray(argument)) return `<${argument.join('.')}>`;
  if (intrinsic === 'Fn::Join' && Array.isArray(argument)) {
    const [separator, parts] = argument;
    if (typeof separator === 'string' && Array.isArray(parts)) {
      return parts.map(print).join(separator);
    }
  }
  throw new Error(`cannot print ${JSON.stringify(value)} the way cdk-nag does`);
}
