import { CustomResource, Duration, RemovalPolicy } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Provider } from 'aws-cdk-lib/custom-resources';
import { Construct } from 'constructs';
import { logRetention, NodegapFunction, type Shared } from './nodegap-function.ts';

/** nodegap.yaml as it was read, with the sha256 of what it says. */
export interface ConfigDocument {
  text: string;
  fileName: string;
  sha256: string;
}

export interface ConfigPublicationProps {
  shared: Shared;
  document: ConfigDocument;
}

/**
 * Puts the configuration in place at deploy. Its function validates the text, writes it under its
 * sha256, then moves the pointer; a bad document fails the deploy and the last good one stays. It
 * is the only function that may write the configuration.
 */
export class ConfigPublication extends Construct {
  readonly resource: CustomResource;

  constructor(scope: Construct, id: string, { shared, document }: ConfigPublicationProps) {
    super(scope, id);
    const publisher = new NodegapFunction(this, 'Publisher', {
      shared,
      name: 'publish-config',
      timeoutSeconds: 30,
      memoryMb: 256,
    });
    shared.table.grantConfigWrite(publisher.role);
    const provider = this.#provider(shared.prefix, publisher.function);
    this.resource = new CustomResource(this, 'Document', {
      serviceToken: provider.serviceToken,
      resourceType: 'Custom::NodegapConfig',
      // Without it a provider that dies without an answer would hold the deploy for an hour.
      serviceTimeout: Duration.minutes(2),
      properties: {
        document: document.text,
        fileName: document.fileName,
        // New defaults change what the same text means: then it is published again.
        sha256: document.sha256,
      },
    });
    // CloudFormation may call the function as soon as it exists: its rights must be there before.
    this.resource.node.addDependency(publisher, provider);
  }

  /** CDK's function between CloudFormation and the publisher, with no more than it needs. */
  #provider(prefix: string, publisher: IFunction): Provider {
    const providerFunctionName = `${prefix}-config-provider`;
    const logGroup = new LogGroup(this, 'ProviderLogs', {
      logGroupName: `/aws/lambda/${providerFunctionName}`,
      retention: logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const role = new Role(this, 'ProviderRole', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    });
    role.addToPolicy(
      new PolicyStatement({
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [logGroup.logGroupArn],
      }),
    );
    role.addToPolicy(
      new PolicyStatement({
        actions: ['lambda:GetFunction', 'lambda:InvokeFunction'],
        resources: [publisher.functionArn],
      }),
    );
    const provider = new Provider(this, 'Provider', {
      onEventHandler: publisher,
      providerFunctionName,
      logGroup,
      // CDK would add every version and alias of the publisher.
      frameworkOnEventRole: role.withoutPolicyUpdates(),
    });
    provider.node.addDependency(role);
    return provider;
  }
}
