/** Links into the AWS console. Pure. */

/**
 * Domains of the console in each partition; a region's console stands under its code.
 * https://docs.aws.amazon.com/general/latest/gr/mgmt-console.html,
 * https://docs.amazonaws.cn/en_us/aws/latest/userguide/endpoints-Beijing.html,
 * https://docs.aws.amazon.com/govcloud-us/latest/UserGuide/govcloud-console.html
 */
const consoles: Record<string, string> = {
  aws: 'console.aws.amazon.com',
  'aws-cn': 'console.amazonaws.cn',
  'aws-us-gov': 'console.amazonaws-us-gov.com',
};

/**
 * The page of an execution in the Step Functions console. Undefined for one that ran elsewhere:
 * `nodegap remediate`, the demo and the tests run the machine in their own process.
 */
export function executionLink(executionArn: string): string | undefined {
  const [arn, partition = '', service, region = '', , resource] = executionArn.split(':');
  const console = consoles[partition];
  const isRegion = /^[a-z]{2,}(-[a-z]+)+-\d+$/.test(region);
  if (arn !== 'arn' || service !== 'states' || resource !== 'execution') return undefined;
  if (console === undefined || !isRegion) return undefined;
  return `https://${region}.${console}/states/home?region=${region}#/v2/executions/details/${executionArn}`;
}
