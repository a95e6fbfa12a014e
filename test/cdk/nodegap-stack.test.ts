import { describe, expect, it } from 'vitest';
import { setFunctions } from '../../cdk/functions.ts';
import { longestFunctionTimeoutSeconds } from '../../lib/aws/function-timeouts.ts';
import { loadConfig } from '../../lib/config/load.ts';
import {
  fleet,
  functionsOf,
  type Resource,
  resourcesOf,
  roleOf,
  synthesize,
  textOf,
} from './synthesis.ts';

const stacks = synthesize(fleet);
const europe = stacks['nodegap-111111111111-eu-west-1'];
const america = stacks['nodegap-222222222222-us-east-1'];
if (europe === undefined || america === undefined) throw new Error('a stack is missing');

const once = [
  'answer-approval',
  'approval-page',
  'janitor',
  'publish-config',
  'route-event',
  'set-hold',
  'show-status',
];

describe('the stacks', () => {
  it('are one per account and region', () => {
    expect(Object.keys(stacks)).toEqual([
      'nodegap-111111111111-eu-west-1',
      'nodegap-222222222222-us-east-1',
    ]);
  });

  it('leave the account open when nobody names it', () => {
    const open = synthesize('clusters: [{ name: a, region: eu-west-1 }]');
    expect(Object.keys(open)).toEqual(['nodegap-eu-west-1']);
  });

  it('hold one set of functions and one machine per network', () => {
    const own = [...functionsOf(europe).keys()].filter(
      (name) => name !== 'nodegap-config-provider',
    );
    const expected = [
      ...once.map((name) => `nodegap-${name}`),
      ...['public', 'inner'].flatMap((network) =>
        Object.keys(setFunctions).map((name) => `nodegap-${network}-${name}`),
      ),
    ];
    expect(own.sort()).toEqual(expected.sort());
    const machines = Object.values(resourcesOf(europe, 'AWS::StepFunctions::StateMachine'));
    expect(machines.map(({ Properties }) => Properties.StateMachineName).sort()).toEqual([
      'nodegap-inner-admit-nodes',
      'nodegap-inner-remediate-node',
      'nodegap-public-admit-nodes',
      'nodegap-public-remediate-node',
    ]);
  });

  it('keep the state table when they are deleted', () => {
    const [table] = Object.values(resourcesOf(europe, 'AWS::DynamoDB::Table'));
    expect(table).toMatchObject({
      DeletionPolicy: 'Retain',
      Properties: {
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        SSESpecification: { SSEEnabled: true },
        TimeToLiveSpecification: { AttributeName: 'ttl', Enabled: true },
      },
    });
  });

  it('keep the evidence encrypted, versioned, away from the public, and for as long as configured', () => {
    const buckets = Object.entries(resourcesOf(europe, 'AWS::S3::Bucket'));
    expect(buckets).toHaveLength(1);
    const [id, bucket] = buckets[0] ?? [];
    const everywhere = {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    };
    expect(bucket).toMatchObject({
      DeletionPolicy: 'Retain',
      Properties: {
        BucketEncryption: {
          ServerSideEncryptionConfiguration: [
            { ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } },
          ],
        },
        PublicAccessBlockConfiguration: everywhere,
        VersioningConfiguration: { Status: 'Enabled' },
        LifecycleConfiguration: {
          Rules: [
            {
              ExpirationInDays: 90,
              NoncurrentVersionExpiration: { NoncurrentDays: 90 },
              Status: 'Enabled',
            },
            { ExpiredObjectDeleteMarker: true, Status: 'Enabled' },
          ],
        },
      },
    });
    const [policy] = Object.values(resourcesOf(europe, 'AWS::S3::BucketPolicy'));
    expect(policy?.Properties).toMatchObject({
      Bucket: { Ref: id },
      PolicyDocument: {
        Statement: [
          {
            Effect: 'Deny',
            Action: 's3:*',
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          },
        ],
      },
    });
    const [yearly] = Object.values(
      resourcesOf(
        Object.values(
          synthesize('clusters: [{ name: a, region: eu-west-1 }]\nevidence: { expireDays: 365 }'),
        )[0] as typeof europe,
        'AWS::S3::Bucket',
      ),
    );
    expect(yearly?.Properties.LifecycleConfiguration.Rules[0]).toMatchObject({
      ExpirationInDays: 365,
    });
  });

  it('publish the configuration as it was read, and again when its meaning changes', () => {
    const [document] = Object.values(resourcesOf(europe, 'Custom::NodegapConfig'));
    expect(document?.Properties).toMatchObject({
      document: fleet,
      fileName: 'nodegap.yaml',
      sha256: loadConfig(fleet, 'nodegap.yaml').sha256,
    });
  });
});

describe('a function', () => {
  const own = [...functionsOf(europe)].filter(([name]) => name !== 'nodegap-config-provider');

  it.each(own)(
    '%s runs on Node 24 on arm64 within the longest timeout',
    (_name, { Properties }) => {
      expect(Properties.Runtime).toBe('nodejs24.x');
      expect(Properties.Architectures).toEqual(['arm64']);
      expect(Properties.Timeout).toBeLessThanOrEqual(longestFunctionTimeoutSeconds);
    },
  );

  it.each(own)('%s has a log group that expires and a role of its own', (name, { Properties }) => {
    const groups = resourcesOf(europe, 'AWS::Logs::LogGroup');
    const group = groups[Properties.LoggingConfig.LogGroup.Ref];
    expect(group?.Properties).toMatchObject({
      LogGroupName: `/aws/lambda/${name}`,
      RetentionInDays: 90,
    });
    const sharing = own.filter(([other]) => roleOf(europe, other) === roleOf(europe, name));
    expect(sharing.map(([other]) => other)).toEqual([name]);
  });

  it.each(own)('%s knows table, topic, bus and installation', (_name, { Properties }) => {
    const { Variables } = Properties.Environment;
    expect(textOf(Variables.TABLE_NAME)).toMatch(/^<StateTable/);
    expect(textOf(Variables.TOPIC_ARN)).toMatch(/^<NoticesTopic/);
    expect(textOf(Variables.BUS_NAME)).toMatch(/^<EventsBus/);
    expect(Variables).toMatchObject({
      INSTALLATION: '111111111111/eu-west-1/nodegap',
      POWERTOOLS_SERVICE_NAME: 'nodegap',
      POWERTOOLS_LOG_LEVEL: 'INFO',
    });
    expect(['public', 'inner']).toContain(Variables.NETWORK);
  });

  it('in a private network is in the VPC only if it calls a cluster', () => {
    for (const [name, access] of Object.entries(setFunctions)) {
      const inner = functionsOf(europe).get(`nodegap-inner-${name}`)?.Properties.VpcConfig;
      const expected =
        access.cluster === undefined
          ? undefined
          : {
              SubnetIds: ['subnet-0abc1234', 'subnet-0abc1235'],
              SecurityGroupIds: ['sg-0abc1234'],
            };
      expect(inner, name).toEqual(expected);
      const open = functionsOf(europe).get(`nodegap-public-${name}`)?.Properties.VpcConfig;
      expect(open, name).toBeUndefined();
    }
    for (const name of once) {
      const outside = functionsOf(europe).get(`nodegap-${name}`)?.Properties.VpcConfig;
      expect(outside, name).toBeUndefined();
    }
  });

  it('that routes knows the machine and the functions of every network', () => {
    const variables =
      functionsOf(europe).get('nodegap-route-event')?.Properties.Environment.Variables;
    expect(JSON.parse(textOf(variables.STATE_MACHINES))).toEqual({
      public: 'arn:aws:states:eu-west-1:111111111111:stateMachine:nodegap-public-remediate-node',
      inner: 'arn:aws:states:eu-west-1:111111111111:stateMachine:nodegap-inner-remediate-node',
    });
    expect(JSON.parse(textOf(variables.SCAN_FUNCTIONS))).toEqual({
      public: 'nodegap-public-scan-cluster',
      inner: 'nodegap-inner-scan-cluster',
    });
    expect(JSON.parse(textOf(variables.TAINT_CONDITIONS_FUNCTIONS))).toEqual({
      public: 'nodegap-public-taint-conditions',
      inner: 'nodegap-inner-taint-conditions',
    });
  });
});

describe('a schedule', () => {
  const all = Object.values(resourcesOf(europe, 'AWS::Scheduler::Schedule'));
  const isAudit = ({ Properties }: Resource) => Properties.ScheduleExpression.startsWith('cron(');
  const schedules = all.filter((each) => !isAudit(each));

  it('has the cluster audited once a day, and tries for hours', () => {
    const audits = all.filter(isAudit).map(({ Properties: { Target } }) => ({
      input: JSON.parse(Target.Input),
      target: textOf(Target.Arn).replace(/[0-9A-F]{8}\.Arn>/, ''),
      retry: Target.RetryPolicy,
    }));
    const retry = { MaximumEventAgeInSeconds: 21_600, MaximumRetryAttempts: 5 };
    expect(audits).toEqual([
      { input: { cluster: 'blue' }, target: '<SetpublicauditclusterFunction', retry },
      { input: { cluster: 'teal' }, target: '<SetpublicauditclusterFunction', retry },
      { input: { cluster: 'green' }, target: '<SetinnerauditclusterFunction', retry },
    ]);
  });

  it('spreads the audits over the day, each at the same time every day', () => {
    const times = all.filter(isAudit).map(({ Properties }) => Properties.ScheduleExpression);
    for (const time of times) expect(time).toMatch(/^cron\(\d{1,2} \d{1,2} \* \* \? \*\)$/);
    expect(new Set(times).size).toBe(times.length);
  });

  it('exists for every cluster and no other', () => {
    const inputs = schedules.map(({ Properties }) => JSON.parse(Properties.Target.Input));
    expect(inputs).toEqual([{ cluster: 'blue' }, { cluster: 'teal' }, { cluster: 'green' }]);
  });

  it('follows the interval of the configuration and calls the scan of its network', () => {
    const target = ({ Properties }: Resource) => [
      Properties.ScheduleExpression,
      textOf(Properties.Target.Arn).replace(/[0-9A-F]{8}\.Arn>/, ''),
    ];
    expect(schedules.map(target)).toEqual([
      ['rate(2 minutes)', '<SetpublicscanclusterFunction'],
      ['rate(2 minutes)', '<SetpublicscanclusterFunction'],
      ['rate(2 minutes)', '<SetinnerscanclusterFunction'],
    ]);
  });

  it('keeps what it could not deliver and does not catch up', () => {
    for (const { Properties } of schedules) {
      expect(textOf(Properties.Target.DeadLetterConfig.Arn)).toMatch(/^<ScanDeadLetters/);
      expect(Properties.Target.RetryPolicy).toEqual({
        MaximumEventAgeInSeconds: 60,
        MaximumRetryAttempts: 0,
      });
    }
  });

  it('has the name of its cluster, unless that is too long for a schedule', () => {
    const long = 'a'.repeat(60);
    const [open] = Object.values(
      synthesize(
        `clusters: [{ name: Role, region: eu-west-1 }, { name: ${long}, region: eu-west-1 }]`,
      ),
    );
    const made = open && Object.values(resourcesOf(open, 'AWS::Scheduler::Schedule'));
    expect(made?.map(({ Properties }) => Properties.Name)).toEqual([
      'nodegap-scan-Role',
      undefined,
      'nodegap-audit-Role',
      undefined,
    ]);
  });

  it('starts only when the configuration is there', () => {
    const [document] = Object.keys(resourcesOf(europe, 'Custom::NodegapConfig'));
    for (const { DependsOn } of schedules) expect(DependsOn).toContain(document);
  });
});

describe('an access entry', () => {
  const entries = Object.values(resourcesOf(europe, 'AWS::EKS::AccessEntry'));

  it('exists for every function that calls the cluster, unless it is managed elsewhere', () => {
    const calling = Object.entries(setFunctions).filter(([, { cluster }]) => cluster !== undefined);
    const expected = [
      ...calling.map(([name, { cluster }]) => ['blue', `nodegap-public-${name}`, cluster]),
      ...calling.map(([name, { cluster }]) => ['green', `nodegap-inner-${name}`, cluster]),
    ];
    expect(entries).toHaveLength(expected.length);
    for (const [cluster, name, as] of expected) {
      const entry = entries.find(
        ({ Properties }) =>
          Properties.ClusterName === cluster &&
          textOf(Properties.PrincipalArn) === `<${roleOf(europe, name as string)}.Arn>`,
      );
      expect(entry?.Properties, name).toMatchObject({
        KubernetesGroups: [`nodegap:${as}`],
        Type: 'STANDARD',
      });
    }
  });

  it('attaches no access policy of EKS', () => {
    for (const { Properties } of entries) expect(Properties.AccessPolicies).toBeUndefined();
  });
});

describe('an alarm', () => {
  it('reaches people for dead letters, failing or silent scans, and failed executions', () => {
    const alarms = Object.values(resourcesOf(america, 'AWS::CloudWatch::Alarm'));
    expect(alarms.map(({ Properties }) => Properties.AlarmName).sort()).toEqual([
      'nodegap-events-dead-letters',
      'nodegap-janitor-dead-letters',
      'nodegap-public-admissions-failed',
      'nodegap-public-audit-errors',
      'nodegap-public-executions-failed',
      'nodegap-public-red-overdue-nodes',
      'nodegap-public-red-refused-nodes',
      'nodegap-public-scan-errors',
      'nodegap-public-scan-silent',
      'nodegap-public-taint-conditions-errors',
      'nodegap-scan-dead-letters',
    ]);
    for (const { Properties } of alarms) {
      expect(Properties.AlarmActions.map(textOf)).toEqual([
        expect.stringMatching(/^<NoticesTopic/),
      ]);
    }
  });
});

describe('the log of a machine', () => {
  it('holds every state but no data, so that a task token never stands in it', () => {
    const machines = Object.values(resourcesOf(europe, 'AWS::StepFunctions::StateMachine'));
    expect(machines).toHaveLength(4);
    for (const { Properties } of machines) {
      const { Level, IncludeExecutionData, Destinations } = Properties.LoggingConfiguration;
      expect(Level).toBe('ALL');
      expect(IncludeExecutionData).toBe(false);
      const group = Destinations[0].CloudWatchLogsLogGroup.LogGroupArn['Fn::GetAtt'][0];
      expect(resourcesOf(europe, 'AWS::Logs::LogGroup')[group]?.Properties.LogGroupName).toBe(
        `/aws/vendedlogs/states/${Properties.StateMachineName}`,
      );
    }
  });
});
