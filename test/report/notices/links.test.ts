import { expect, it } from 'vitest';
import { executionLink } from '../../../lib/report/notices/links.ts';

const arn = (partition: string, region: string) =>
  `arn:${partition}:states:${region}:111122223333:execution:nodegap-public:prod-0a1b-e1-a1`;
const page = (region: string, domain: string, of: string) =>
  `https://${region}.${domain}/states/home?region=${region}#/v2/executions/details/${of}`;

it.each([
  ['aws', 'eu-west-1', 'console.aws.amazon.com'],
  ['aws-cn', 'cn-north-1', 'console.amazonaws.cn'],
  ['aws-us-gov', 'us-gov-west-1', 'console.amazonaws-us-gov.com'],
])(
  'an execution in partition %s has its page in the console of the partition',
  (partition, region, domain) => {
    expect(executionLink(arn(partition, region))).toBe(
      page(region, domain, arn(partition, region)),
    );
  },
);

it.each([
  ['one that ran in this process', arn('aws', 'local')],
  ['a partition whose console is not known', arn('aws-iso', 'us-iso-east-1')],
  ['something else', 'arn:aws:lambda:eu-west-1:111122223333:function:x'],
  ['no ARN', 'nodegap-7'],
])('there is no page for %s', (_what, execution) => {
  expect(executionLink(execution)).toBeUndefined();
});
