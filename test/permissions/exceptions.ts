/** Rights that no call of the functions' own code uses, with the reason why they are granted. */
import type { Exception } from './proof.ts';

export const exceptions: Exception[] = [
  {
    functions: /./,
    actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
    reason: 'Lambda itself writes what a function prints, with the rights of its role',
  },
  {
    functions: /-(route-event|janitor)$/,
    actions: [
      'sqs:ChangeMessageVisibility',
      'sqs:DeleteMessage',
      'sqs:GetQueueAttributes',
      'sqs:GetQueueUrl',
      'sqs:ReceiveMessage',
    ],
    reason: "Lambda's event source mapping reads the queue with the rights of the function's role",
  },
  {
    functions:
      /-(scan-cluster|audit-cluster|admit-nodes|report|request-approval|taint-conditions)$/,
    actions: ['kms:Decrypt', 'kms:GenerateDataKey'],
    reason: 'SNS asks KMS in the name of whoever publishes to an encrypted topic',
  },
  {
    functions: /-config-provider$/,
    actions: ['lambda:GetFunction', 'lambda:InvokeFunction'],
    reason: "CDK's own function between CloudFormation and the publisher; its code is not here",
  },
];
