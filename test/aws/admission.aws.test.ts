/** The machine that admits new nodes, on Step Functions. */

import { GetExecutionHistoryCommand, ListExecutionsCommand } from '@aws-sdk/client-sfn';
import { DeleteTopicCommand } from '@aws-sdk/client-sns';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { AdmitResult } from '../../functions/admit-nodes.ts';
import { admittedAnnotation } from '../../lib/prevention/admit/mark.ts';
import { type Account, account, openAccount, region } from './account.ts';
import { cluster, type Installation, install } from './installation.ts';
import { rightsProblems } from './rights.ts';

const key = 'nodegap.dev/startup-aws-node';
const prefix = 'admission';
const stateMachineArn = `arn:aws:states:${region}:${account}:stateMachine:${prefix}-public-admit-nodes`;

let aws: Account;
let nodegap: Installation;
beforeAll(async () => {
  aws = await openAccount();
  await aws.executeStateMachines();
  nodegap = await install(aws, {
    prefix,
    yaml: `clusters:
  - { name: ${cluster}, region: ${region}, mode: act }
timings: { startupSoak: 1s }
`,
    build: (simulated) => {
      const startupTaints = [{ key, effect: 'NoExecute' }];
      simulated.addPool('general', { nodes: 1, zones: ['eu-west-1a'], startupTaints });
      simulated.addDaemonSet({
        name: 'aws-node',
        priorityClassName: 'system-node-critical',
        tolerations: [{ operator: 'Exists' }],
      });
    },
  });
});
afterAll(async () => {
  for (const { executionArn = '' } of await executions()) await nodegap.stop(executionArn);
  await nodegap.close();
  await aws.close();
});

async function executions() {
  const { executions: all = [] } = await aws.sfn.send(
    new ListExecutionsCommand({ stateMachineArn }),
  );
  return all;
}

const newNodes = () =>
  nodegap.cluster
    .nodesOf('general')
    .filter(({ metadata }) => metadata.annotations?.[admittedAnnotation] !== undefined);

it('takes the startup taint off a new node, as the functions are deployed', async () => {
  nodegap.cluster.addDeployment({ name: 'web', replicas: 2, cpu: 3 });
  const wait = { timeout: 120_000, interval: 1_000 };
  await vi.waitFor(async () => {
    await nodegap.scan();
    expect(await executions()).not.toEqual([]);
  }, wait);
  await vi.waitFor(() => {
    nodegap.cluster.advanceTo(Date.now());
    expect(newNodes()).toHaveLength(1);
  }, wait);
  const [admitted] = newNodes();
  expect(admitted?.spec.taints?.some((taint) => taint.key === key)).not.toBe(true);

  // Another scan, in which the node may still be seen as it was, starts no other.
  await nodegap.scan();
  const [only, ...others] = await executions();
  expect(others).toEqual([]);
  expect(only?.name).toMatch(/-admit-1$/);
  const { events = [] } = await aws.sfn.send(
    new GetExecutionHistoryCommand({ executionArn: only?.executionArn }),
  );
  const entered = events.flatMap(
    ({ stateEnteredEventDetails }) => stateEnteredEventDetails?.name ?? [],
  );
  expect(entered.slice(0, 3)).toEqual(['AdmitPass', 'AfterAdmitPass', 'WaitForPass']);
  expect(nodegap.metrics).toContain(`AdmittedNodes ${cluster} 1`);
  expect(
    await nodegap.ports.table.get({ pk: `cluster#${cluster}`, sk: 'admission' }),
  ).toMatchObject({
    number: 1,
    state: 'running',
  });
}, 300_000);

it('hands over, tells and hands on with every right of its role, and no other', async () => {
  const pass = (passes: number) =>
    nodegap.call<AdmitResult>('admit-nodes', {
      execution: 'by-hand',
      state: { cluster, number: 1, pass: { passes, lastSeenTainted: Date.now() } },
    });
  const [node] = nodegap.cluster.nodesOf('general');
  const bear = (...keys: string[]) =>
    nodegap.cluster.operations.editNode(node?.metadata.name ?? '', ({ metadata, spec }) => {
      metadata.creationTimestamp = new Date(Date.now() - 3_600_000).toISOString();
      spec.taints = keys.map((each) => ({ key: each, effect: 'NoSchedule' }));
    });
  const told = async () => (await nodegap.notices()).map(({ body }) => body).join();

  bear(key, 'karpenter.sh/unregistered', 'nodegap.dev/startup-nobody');
  expect(await pass(1)).toMatchObject({ next: 'again', overdue: 1 });
  expect(await told()).toContain('startup-nobody');
  expect(nodegap.calledBy('admit-nodes').join()).toContain('PutEvents');

  // Nobody can be told, so it has to be told again.
  const TopicArn = `arn:aws:sns:${region}:${account}:${prefix}`;
  await aws.sns.send(new DeleteTopicCommand({ TopicArn }));
  bear('nodegap.dev/startup-none');
  await expect(pass(2)).rejects.toThrow();

  bear(key, 'karpenter.sh/unregistered');
  expect(await pass(179)).toMatchObject({ next: 'continue' });
  expect(rightsProblems(aws, prefix, ['admit-nodes'])).toEqual([]);
}, 120_000);
