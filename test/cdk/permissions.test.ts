import { readFileSync } from 'node:fs';
import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { setFunctions } from '../../cdk/functions.ts';
import { evaluate, type PolicyStatement } from '../permissions/policy.ts';
import {
  fleet,
  functionsOf,
  functionsThatMay,
  resourcesOf,
  roleOf,
  type Statement,
  statementsOf,
  synthesize,
  textOf,
} from './synthesis.ts';

function stackOf(text: string): Template {
  const stack = synthesize(text)['nodegap-111111111111-eu-west-1'];
  if (stack === undefined) throw new Error('the stack is missing');
  return stack;
}

const template = stackOf(fleet);

const roles = Object.keys(resourcesOf(template, 'AWS::IAM::Role'));
const allStatements = roles.flatMap((role) =>
  statementsOf(template, role).map((statement) => ({ role, statement })),
);

function actionsOf({ Action }: Statement): string[] {
  return [Action].flat();
}

function resourceTexts({ Resource }: Statement): string[] {
  return [Resource].flat().map(textOf);
}

function both(...names: string[]): string[] {
  return names.flatMap((name) => [`nodegap-inner-${name}`, `nodegap-public-${name}`]).sort();
}

describe('a role', () => {
  it.each(allStatements)('$role allows no action by wildcard', ({ statement }) => {
    for (const action of actionsOf(statement)) expect(action).not.toContain('*');
  });

  it.each(roles)('%s has no managed policy', (role) => {
    const { Properties } = resourcesOf(template, 'AWS::IAM::Role')[role] ?? {};
    expect(Properties.ManagedPolicyArns).toBeUndefined();
  });

  it('reaches all resources only by actions that know no resource', () => {
    const open = allStatements
      .filter(({ statement }) => statement.Effect === 'Allow')
      .filter(({ statement }) => resourceTexts(statement).includes('*'))
      .flatMap(({ statement }) => actionsOf(statement));
    const services = new Set(open.map((action) => action.split(':')[0]));
    expect([...services].sort()).toEqual(['arc-zonal-shift', 'autoscaling', 'ec2', 'logs', 'xray']);
    expect(open.filter((action) => action.startsWith('ec2:'))).not.toContain(
      'ec2:TerminateInstances',
    );
  });

  it('of a function in a VPC denies its code what Lambda needs to attach it', () => {
    const statements = statementsOf(template, roleOf(template, 'nodegap-inner-drain-node'));
    const [allowed] = statements.filter(
      (each) => each.Effect === 'Allow' && actionsOf(each).includes('ec2:CreateNetworkInterface'),
    );
    const [denied] = statements.filter(
      (each) => each.Effect === 'Deny' && actionsOf(each).includes('ec2:CreateNetworkInterface'),
    );
    // CDK puts all that is allowed on all resources into one statement.
    expect(allowed && actionsOf(allowed)).toEqual(
      expect.arrayContaining(denied === undefined ? ['a deny'] : actionsOf(denied)),
    );
    expect(denied?.Condition).toEqual({
      ArnEquals: {
        'lambda:SourceFunctionArn':
          'arn:aws:lambda:eu-west-1:111111111111:function:nodegap-inner-drain-node',
      },
    });
  });

  it('of a schedule or provider calls one function and none of its versions', () => {
    const callers = allStatements.filter(
      ({ role, statement }) =>
        /Schedules|Provider/.test(role) && actionsOf(statement).includes('lambda:InvokeFunction'),
    );
    // A scan and an audit for each of two networks, and the publication of the configuration.
    expect(callers).toHaveLength(5);
    for (const { statement } of callers) {
      expect(resourceTexts(statement)).toEqual([expect.stringMatching(/^<[A-Za-z0-9]+\.Arn>$/)]);
    }
  });
});

describe('the right to', () => {
  it('start an execution belongs to the router, for the machines of this stack', () => {
    expect(functionsThatMay(template, 'states:StartExecution')).toEqual([
      ...both('admit-nodes'),
      'nodegap-route-event',
    ]);
    const statement = statementsOf(template, roleOf(template, 'nodegap-route-event')).find((each) =>
      actionsOf(each).includes('states:StartExecution'),
    );
    expect(statement && resourceTexts(statement)).toEqual([
      'arn:aws:states:eu-west-1:111111111111:stateMachine:nodegap-inner-admit-nodes',
      'arn:aws:states:eu-west-1:111111111111:stateMachine:nodegap-inner-remediate-node',
      'arn:aws:states:eu-west-1:111111111111:stateMachine:nodegap-public-admit-nodes',
      'arn:aws:states:eu-west-1:111111111111:stateMachine:nodegap-public-remediate-node',
    ]);
  });

  it('start an execution belongs to admit-nodes too, for its own machine', () => {
    for (const network of ['inner', 'public']) {
      const role = roleOf(template, `nodegap-${network}-admit-nodes`);
      const statement = statementsOf(template, role).find((each) =>
        actionsOf(each).includes('states:StartExecution'),
      );
      expect(statement && resourceTexts(statement)).toEqual([
        `arn:aws:states:eu-west-1:111111111111:stateMachine:nodegap-${network}-admit-nodes`,
      ]);
    }
  });

  it('run a scan or taint-conditions belongs to the router alone', () => {
    expect(functionsThatMay(template, 'lambda:InvokeFunction')).toEqual([
      'nodegap-config-provider',
      'nodegap-route-event',
    ]);
  });

  it('answer a waiting task belongs to who takes answers, and to the scans for their own machine', () => {
    expect(functionsThatMay(template, 'states:SendTaskSuccess')).toEqual([
      'nodegap-answer-approval',
      'nodegap-approval-page',
      ...both('scan-cluster'),
    ]);
    for (const network of ['inner', 'public']) {
      const role = roleOf(template, `nodegap-${network}-scan-cluster`);
      const statement = statementsOf(template, role).find((each) =>
        actionsOf(each).includes('states:SendTaskSuccess'),
      );
      expect(statement && resourceTexts(statement)).toEqual([
        `arn:aws:states:eu-west-1:111111111111:stateMachine:nodegap-${network}-remediate-node`,
      ]);
    }
  });

  it('look at what executions do belongs to whoever shows the status alone', () => {
    expect(functionsThatMay(template, 'states:GetExecutionHistory')).toEqual([
      ...both('request-node'),
      'nodegap-show-status',
    ]);
    const writes = ['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'];
    for (const action of writes) {
      expect(functionsThatMay(template, action)).not.toContain('nodegap-show-status');
    }
  });

  it('save evidence belongs to the drain and the replacement, and nobody may read or delete any', () => {
    expect(functionsThatMay(template, 's3:PutObject')).toEqual(both('drain-node', 'replace-node'));
    const actions = allStatements
      .filter(({ role, statement }) => statement.Effect === 'Allow' && !/CustomS3/.test(role))
      .flatMap(({ statement }) => actionsOf(statement));
    expect(new Set(actions.filter((action) => action.startsWith('s3:')))).toEqual(
      new Set(['s3:PutObject']),
    );
    const statement = statementsOf(template, roleOf(template, 'nodegap-inner-drain-node')).find(
      (each) => actionsOf(each).includes('s3:PutObject'),
    );
    expect(statement && resourceTexts(statement)).toEqual([
      expect.stringMatching(/^<\w+\.Arn>\/evidence\/\*$/),
    ]);
  });

  it('put events belongs to who finds nodes, and to the function by which a person asks for one', () => {
    expect(functionsThatMay(template, 'events:PutEvents')).toEqual(
      both('admit-nodes', 'request-node', 'scan-cluster'),
    );
  });

  it('ask about executions belongs to the scans alone', () => {
    expect(functionsThatMay(template, 'states:DescribeExecution')).toEqual(both('scan-cluster'));
  });

  it('tell people belongs to the functions that have something to say', () => {
    expect(functionsThatMay(template, 'sns:Publish')).toEqual(
      both(
        'admit-nodes',
        'audit-cluster',
        'report',
        'request-approval',
        'scan-cluster',
        'taint-conditions',
      ),
    );
  });

  it('ask what AWS is doing belongs to the scan and to whoever judges before it acts', () => {
    const judging = both(
      'acquire-slot',
      'check-recovery',
      'confirm-gap',
      'drain-node',
      'isolate-node',
      'replace-node',
      'request-node',
      'restart-daemon-pod',
      'scan-cluster',
      'taint-node',
    );
    for (const action of ['arc-zonal-shift:ListZonalShifts', 'arc-zonal-shift:ListAutoshifts']) {
      expect(functionsThatMay(template, action)).toEqual(judging);
    }
    const statement = statementsOf(template, roleOf(template, 'nodegap-inner-acquire-slot')).find(
      (each) => actionsOf(each).includes('eks:DescribeNodegroup'),
    );
    expect(statement && resourceTexts(statement)).toEqual([
      'arn:aws:eks:eu-west-1:111111111111:nodegroup/green/*/*',
    ]);
  });

  it('ask EC2 about instances belongs to the functions that judge', () => {
    expect(functionsThatMay(template, 'ec2:DescribeInstanceStatus')).toEqual(
      both(
        'acquire-slot',
        'check-recovery',
        'confirm-gap',
        'drain-node',
        'isolate-node',
        'replace-node',
        'request-node',
        'restart-daemon-pod',
        'scan-cluster',
        'taint-node',
      ),
    );
  });

  it('see how nodes are launched belongs to the audit, for its own clusters', () => {
    expect(functionsThatMay(template, 'ec2:DescribeLaunchTemplateVersions')).toEqual(
      both('audit-cluster'),
    );
    expect(functionsThatMay(template, 'eks:ListNodegroups')).toEqual(both('audit-cluster'));
    const statements = statementsOf(template, roleOf(template, 'nodegap-inner-audit-cluster'));
    const resourcesOfAction = (action: string) =>
      statements.filter((each) => actionsOf(each).includes(action)).flatMap(resourceTexts);
    expect(resourcesOfAction('eks:ListNodegroups')).toEqual([
      'arn:aws:eks:eu-west-1:111111111111:cluster/green',
    ]);
    expect(resourcesOfAction('eks:DescribeNodegroup')).toEqual([
      'arn:aws:eks:eu-west-1:111111111111:nodegroup/green/*/*',
    ]);
  });

  it('describe a cluster is for the clusters of the set and no other', () => {
    for (const [name, { cluster }] of Object.entries(setFunctions)) {
      for (const [network, clusters] of [
        ['public', ['blue', 'teal']],
        ['inner', ['green']],
      ] as const) {
        const statement = statementsOf(
          template,
          roleOf(template, `nodegap-${network}-${name}`),
        ).find((each) => actionsOf(each).includes('eks:DescribeCluster'));
        const expected = clusters.map(
          (each) => `arn:aws:eks:eu-west-1:111111111111:cluster/${each}`,
        );
        expect(statement && resourceTexts(statement), name).toEqual(
          cluster === undefined ? undefined : expected,
        );
      }
    }
  });
});

describe('the right to end a machine', () => {
  const action = 'autoscaling:TerminateInstanceInAutoScalingGroup';
  const statementsFor = (of: Template, name: string) =>
    statementsOf(of, roleOf(of, name)).filter((each) => actionsOf(each).includes(action));
  const withGroups = (methods: string) => stackOf(`${fleet}\nreplacement: { ${methods} }\n`);

  it('belongs to ReplaceNode alone, in groups of managed node groups of its own clusters', () => {
    expect(functionsThatMay(template, action)).toEqual(both('replace-node'));
    for (const [network, clusters] of [
      ['public', ['blue', 'teal']],
      ['inner', ['green']],
    ] as const) {
      const [statement, ...more] = statementsFor(template, `nodegap-${network}-replace-node`);
      expect(more).toEqual([]);
      expect(statement && resourceTexts(statement)).toEqual([
        'arn:aws:autoscaling:eu-west-1:111111111111:autoScalingGroup:*:autoScalingGroupName/*',
      ]);
      expect(statement?.Condition).toEqual({
        StringEquals: { 'aws:ResourceTag/eks:cluster-name': clusters },
      });
    }
  });

  it('reaches self-managed groups by the tag of each cluster, where the configuration says so', () => {
    const of = withGroups('managedNodeGroup: notify, autoScalingGroup: terminate-instance');
    const conditions = statementsFor(of, 'nodegap-public-replace-node').map(
      ({ Condition }) => Condition,
    );
    expect(conditions).toEqual(
      ['blue', 'teal'].map((name) => ({
        StringEquals: { [`aws:ResourceTag/kubernetes.io/cluster/${name}`]: ['owned', 'shared'] },
      })),
    );
  });

  it('reaches no group of another cluster, and none without a tag', () => {
    const may = (context: Record<string, string>) =>
      evaluate(
        statementsFor(template, 'nodegap-public-replace-node') as unknown as PolicyStatement[],
        {
          action,
          resource:
            'arn:aws:autoscaling:eu-west-1:111111111111:autoScalingGroup:0a1b:autoScalingGroupName/eks-x',
          context,
        },
      ).kind;
    expect(may({ 'aws:ResourceTag/eks:cluster-name': 'blue' })).toBe('allowed');
    expect(may({ 'aws:ResourceTag/eks:cluster-name': 'green' })).toBe('not-granted');
    expect(may({ 'aws:ResourceTag/kubernetes.io/cluster/blue': 'owned' })).toBe('not-granted');
    expect(may({})).toBe('not-granted');
  });

  it('is nobody’s where the configuration leaves machines to people', () => {
    const of = withGroups('managedNodeGroup: notify');
    expect(functionsThatMay(of, action)).toEqual([]);
  });

  it('is never one past the group', () => {
    expect(functionsThatMay(template, 'ec2:TerminateInstances')).toEqual([]);
    expect(functionsThatMay(template, 'autoscaling:SetInstanceHealth')).toEqual([]);
  });
});

describe('the configuration', () => {
  const writes = ['dynamodb:DeleteItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'];
  const own = [...functionsOf(template).keys()];

  it('can be written by the publisher alone, and nothing else by it', () => {
    const statement = statementsOf(template, roleOf(template, 'nodegap-publish-config')).find(
      (each) => actionsOf(each).includes('dynamodb:PutItem'),
    );
    expect(statement?.Condition).toEqual({
      'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['CONFIG'] },
      Null: { 'dynamodb:LeadingKeys': 'false' },
    });
  });

  it.each(own.filter((name) => name !== 'nodegap-publish-config'))('is denied to %s', (name) => {
    const statements = statementsOf(template, roleOf(template, name));
    for (const action of writes) {
      const allowed = statements.some(
        (each) => each.Effect === 'Allow' && actionsOf(each).includes(action),
      );
      const denied = statements.some(
        (each) =>
          each.Effect === 'Deny' &&
          actionsOf(each).includes(action) &&
          JSON.stringify(each.Condition) ===
            '{"ForAnyValue:StringEquals":{"dynamodb:LeadingKeys":["CONFIG"]}}',
      );
      expect(denied, action).toBe(allowed);
    }
  });
});

describe('the page that anybody can call', () => {
  const statements = statementsOf(template, roleOf(template, 'nodegap-approval-page'));
  const partitionsOf = (action: string) =>
    statements
      .filter((each) => each.Effect === 'Allow' && actionsOf(each).includes(action))
      .map((each) => each.Condition);

  it('reads questions, their links and tokens, and writes an answer, and nothing else', () => {
    const bound = (partitions: string[]) => [
      {
        'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': partitions },
        Null: { 'dynamodb:LeadingKeys': 'false' },
      },
    ];
    expect(partitionsOf('dynamodb:UpdateItem')).toEqual(bound(['approvals']));
    expect(partitionsOf('dynamodb:GetItem')).toEqual(
      bound(['CONFIG', 'approvals', 'approval-links', 'approval-tokens']),
    );
  });
});

describe('the table of rights', () => {
  const ports: [keyof (typeof setFunctions)['report'], RegExp][] = [
    ['notifies', /ports\.notifier\b|\btellPeople\(/],
    ['emits', /ports\.publisher\b/],
    ['startsAdmissions', /\bstartAdmission\(/],
    ['readsNodeGroups', /ports\.nodeGroups\b/],
    ['readsExecutions', /ports\.workflow\.status\b/],
    // Every handler that judges a node, and the scan.
    ['readsAwsWork', /awsPorts\(\{[^}]*\bawsWork\b/],
    ['asksEc2', /awsPorts\(\{[^}]*\.\.\.observers\b/],
    ['closesQuestions', /\bsettleQuestions\(/],
    ['links', /awsPorts\(\{[^}]*\bapprovalPage\b/],
  ];

  it.each(Object.entries(setFunctions))('gives %s what its handler asks for', (name, access) => {
    const source = readFileSync(new URL(`../../functions/${name}.ts`, import.meta.url), 'utf8');
    for (const [right, use] of ports) {
      expect(access[right] === true, right).toBe(use.test(source));
    }
    const expected = /ports\.clients\b/.test(source)
      ? 'actuator'
      : /\btellNode\(/.test(source)
        ? 'reporter'
        : /ports\.auditReads\b/.test(source)
          ? 'auditor'
          : /ports\.readers\b/.test(source)
            ? 'reader'
            : undefined;
    expect(access.cluster).toBe(expected);
    const machines = /awsPorts\(\{[^}]*\bterminator\b/.test(source)
      ? 'end'
      : /\bfindWay\(/.test(source)
        ? 'way'
        : /\breadVerification\(/.test(source)
          ? 'fate'
          : undefined;
    expect(access.machines).toBe(machines);
    // A handler that gets a client-node binding needs the actuator's rights, and no other does.
    expect(/awsPorts\(\{[^}]*\bclients\b(?!:)/.test(source)).toBe(access.cluster === 'actuator');
    expect(/\bclients: eventWriters\b/.test(source)).toBe(access.cluster === 'reporter');
  });
});
