import { CfnOutput, Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { AccessLogField, AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  HttpApi,
  HttpMethod,
  HttpStage,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { configPartition } from '../../lib/config/store.ts';
import { APPROVALS_PK, TOKENS_PK } from '../../lib/safety/approval-items.ts';
import { LINKS_PK } from '../../lib/safety/approval-links.ts';
import { stateMachineArn, stateMachineName } from '../names.ts';
import { logRetention, NodegapFunction, type Shared } from './nodegap-function.ts';

export interface ApprovalPageProps {
  shared: Shared;
  /** Names of the networks, whose machines wait for answers. */
  networks: string[];
}

/**
 * The page behind the links of notices (`approvals: { link: true }`): an HTTP API with one route and
 * one function. Whoever has a link can answer by it, so there is no authoriser; what keeps others out
 * is the secret in the path, and so no log holds a path.
 */
export class ApprovalPage extends Construct {
  /** Without a path. */
  readonly url: string;

  constructor(scope: Construct, id: string, { shared, networks }: ApprovalPageProps) {
    super(scope, id);
    const page = new NodegapFunction(this, 'Page', {
      shared,
      name: 'approval-page',
      timeoutSeconds: 20,
      memoryMb: 256,
    });
    // Anybody can call it, so it can reach no slot, breaker or pause: question, link and token; the answer.
    const read = [configPartition, APPROVALS_PK, LINKS_PK, TOKENS_PK];
    shared.table.grant(page.role, ['GetItem'], read);
    shared.table.grant(page.role, ['UpdateItem'], [APPROVALS_PK]);
    page.role.addToPolicy(
      new PolicyStatement({
        actions: ['states:SendTaskSuccess'],
        resources: networks.map((network) =>
          stateMachineArn(this, stateMachineName(shared.prefix, network)),
        ),
      }),
    );
    const api = new HttpApi(this, 'Api', {
      apiName: `${shared.prefix}-approval-page`,
      description: 'nodegap: the page behind the links of notices',
      createDefaultStage: false,
    });
    const [route] = api.addRoutes({
      path: '/approvals/{id}/{secret}',
      methods: [HttpMethod.ANY],
      integration: new HttpLambdaIntegration('Page', page.function, {
        timeout: Duration.seconds(20),
      }),
    });
    if (route !== undefined) {
      Validations.of(route).acknowledge({
        id: 'AwsSolutions-APIG4',
        reason:
          'Opt-in: the secret in the link is the credential, as docs/approvals.md says; answers by IAM go through the CLI.',
      });
    }
    new HttpStage(this, 'Stage', {
      httpApi: api,
      autoDeploy: true,
      throttle: { rateLimit: 5, burstLimit: 10 },
      accessLogSettings: {
        destination: new LogGroupLogDestination(this.#accessLogs(shared.prefix)),
        format: accessLogFormat,
      },
    });
    this.url = api.apiEndpoint;
    new CfnOutput(this, 'Url', {
      description: 'Links of notices begin with it; without a link it shows nothing',
      value: this.url,
    });
  }

  #accessLogs(prefix: string): LogGroup {
    return new LogGroup(this, 'AccessLogs', {
      // Names outside /aws/vendedlogs fill up the account's one log resource policy:
      // https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/AWS-logs-and-resource-policy.html
      logGroupName: `/aws/vendedlogs/apis/${prefix}-approval-page`,
      retention: logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
  }
}

/**
 * Who asked when and what came of it. The route stands for the path, which holds the secret.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging-variables.html
 */
const accessLogFormat = AccessLogFormat.custom(
  JSON.stringify({
    requestId: AccessLogField.contextRequestId(),
    at: AccessLogField.contextRequestTime(),
    address: AccessLogField.contextIdentitySourceIp(),
    method: AccessLogField.contextHttpMethod(),
    route: '$context.routeKey',
    status: AccessLogField.contextStatus(),
    responseLength: AccessLogField.contextResponseLength(),
    integrationError: '$context.integrationErrorMessage',
  }),
);
