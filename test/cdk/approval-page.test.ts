import { App, Validations } from 'aws-cdk-lib';
import type { Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { addStacks } from '../../cdk/stacks.ts';
import {
  fleet,
  functionsOf,
  resourcesOf,
  roleOf,
  statementsOf,
  synthesize,
  textOf,
} from './synthesis.ts';

function stackOf(text: string): Template {
  const stack = synthesize(text)['nodegap-111111111111-eu-west-1'];
  if (stack === undefined) throw new Error('the stack is missing');
  return stack;
}

const withPage = stackOf(fleet);
const without = stackOf(fleet.replace('link: true', 'link: false'));
const onlyOne = (template: Template, type: string) => {
  const [resource, ...more] = Object.values(resourcesOf(template, type));
  expect(more).toEqual([]);
  return resource?.Properties;
};
const apiTypes = ['Api', 'Route', 'Stage', 'Integration'].map(
  (kind) => `AWS::ApiGatewayV2::${kind}`,
);

describe('the approval page', () => {
  it('is not there unless the configuration asks for it', () => {
    for (const type of apiTypes) expect(resourcesOf(without, type), type).toEqual({});
    expect(functionsOf(without).has('nodegap-approval-page')).toBe(false);
    for (const [name, { Properties }] of functionsOf(without)) {
      expect(Properties.Environment?.Variables, name).not.toHaveProperty('APPROVAL_PAGE_URL');
    }
  });

  it('has one route, which needs both parts of a link, and one function', () => {
    const route = onlyOne(withPage, 'AWS::ApiGatewayV2::Route');
    expect(route).toMatchObject({
      RouteKey: 'ANY /approvals/{id}/{secret}',
      AuthorizationType: 'NONE',
    });
    const integration = onlyOne(withPage, 'AWS::ApiGatewayV2::Integration');
    expect(integration).toMatchObject({ PayloadFormatVersion: '2.0' });
    const target = textOf(integration.IntegrationUri).replace(/^<|\.Arn>$/g, '');
    expect(resourcesOf(withPage, 'AWS::Lambda::Function')[target]?.Properties).toMatchObject({
      FunctionName: 'nodegap-approval-page',
    });
  });

  it('is throttled, and logs who asked but no path, which holds the secret', () => {
    const stage = onlyOne(withPage, 'AWS::ApiGatewayV2::Stage');
    expect(stage.DefaultRouteSettings).toEqual({
      ThrottlingRateLimit: 5,
      ThrottlingBurstLimit: 10,
    });
    const fields: Record<string, string> = JSON.parse(stage.AccessLogSettings.Format);
    expect(Object.values(fields).sort()).toEqual([
      '$context.httpMethod',
      '$context.identity.sourceIp',
      '$context.integrationErrorMessage',
      '$context.requestId',
      '$context.requestTime',
      '$context.responseLength',
      '$context.routeKey',
      '$context.status',
    ]);
    const group = textOf(stage.AccessLogSettings.DestinationArn).replace(/^<|\.Arn>$/g, '');
    expect(resourcesOf(withPage, 'AWS::Logs::LogGroup')[group]?.Properties).toMatchObject({
      RetentionInDays: 90,
    });
  });

  it('is known by its address to the functions that write links, and to no other', () => {
    const knowing = [...functionsOf(withPage)]
      .filter(
        ([, { Properties }]) => 'APPROVAL_PAGE_URL' in (Properties.Environment?.Variables ?? {}),
      )
      .map(([name, { Properties }]) => [
        name,
        textOf(Properties.Environment.Variables.APPROVAL_PAGE_URL),
      ]);
    const url = expect.stringMatching(/^<ApprovalPageApi\w+\.ApiEndpoint>$/);
    expect(knowing).toEqual(
      expect.arrayContaining([
        ['nodegap-public-request-approval', url],
        ['nodegap-inner-request-approval', url],
      ]),
    );
    for (const [name] of knowing) {
      expect(name).toMatch(/^nodegap-(public|inner)-(request-approval|scan-cluster)$/);
    }
  });

  it('may read and update the state table, answer the machines, write its log, and nothing else', () => {
    const allowed = statementsOf(withPage, roleOf(withPage, 'nodegap-approval-page'))
      .filter(({ Effect }) => Effect === 'Allow')
      .flatMap(({ Action, Resource }) =>
        [Action].flat().map((action) => [action, [Resource].flat().map(textOf).join(' ')]),
      );
    const machines = ['inner', 'public'].map(
      (network) =>
        `arn:aws:states:eu-west-1:111111111111:stateMachine:nodegap-${network}-remediate-node`,
    );
    const table = expect.stringMatching(/^<StateTable\w+\.Arn>$/);
    const log = expect.stringMatching(/^<ApprovalPageLogs\w+\.Arn>$/);
    expect(allowed.sort()).toEqual([
      ['dynamodb:GetItem', table],
      ['dynamodb:UpdateItem', table],
      ['logs:CreateLogStream', log],
      ['logs:PutLogEvents', log],
      ['states:SendTaskSuccess', machines.join(' ')],
    ]);
  });

  it('has no finding of cdk-nag that nobody acknowledged', async () => {
    const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
    const checks = new AwsSolutionsChecks(app);
    Validations.of(app).addPlugins(checks);
    addStacks(app, { text: fleet, fileName: 'nodegap.yaml', deployingAccount: undefined });
    expect(() => app.synth()).not.toThrow();
  });
});
