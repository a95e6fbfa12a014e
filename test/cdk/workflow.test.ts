import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { workflowFunctionNames } from '../../cdk/workflow/remediate-node.ts';
import { longestFunctionTimeoutSeconds } from '../../lib/aws/function-timeouts.ts';
import {
  functionArn,
  synthesizeWorkflow,
  workflowFile,
} from '../../scripts/workflow-definition.ts';

// The package has no types of its own.
const aslValidator = createRequire(import.meta.url)('asl-validator') as (definition: object) => {
  isValid: boolean;
  errorsText(): string;
};

interface Rule {
  Variable?: string;
  Next?: string;
  [field: string]: unknown;
}

interface State {
  Type: string;
  Next?: string;
  Default?: string;
  Resource?: string;
  Parameters?: { FunctionName?: string };
  SecondsPath?: string;
  TimeoutSeconds?: number;
  TimeoutSecondsPath?: string;
  Retry?: {
    ErrorEquals: string[];
    IntervalSeconds?: number;
    MaxAttempts?: number;
    BackoffRate?: number;
  }[];
  Catch?: { ErrorEquals: string[]; Next: string }[];
  Choices?: Rule[];
  End?: boolean;
}

const text = synthesizeWorkflow();
const definition = JSON.parse(text) as { StartAt: string; States: Record<string, State> };
const states = Object.entries(definition.States);
const ofType = (type: string) => states.filter(([, state]) => state.Type === type);

/** Every state that can follow a state, its catches included. */
function following(state: State): string[] {
  return [
    state.Next,
    state.Default,
    ...(state.Choices ?? []).map(({ Next }) => Next),
    ...(state.Catch ?? []).map(({ Next }) => Next),
  ].filter((next) => next !== undefined);
}

/** Every state that can be reached from `start`. */
function reachable(start: string): Set<string> {
  const seen = new Set<string>();
  const open = [start];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    const state = definition.States[name];
    if (state === undefined) throw new Error(`there is no state ${name}`);
    open.push(...following(state));
  }
  return seen;
}

describe('the shipped workflow', () => {
  it('is the one that the construct makes (else: npm run build:workflow)', () => {
    const file = new URL(`../../${workflowFile}`, import.meta.url);
    expect(existsSync(file), `${workflowFile} exists`).toBe(true);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('is valid Amazon States Language', () => {
    const { isValid, errorsText } = aslValidator(definition);
    expect(isValid, errorsText()).toBe(true);
  });

  it('is JSONPath throughout and assigns no variables', () => {
    expect(text).not.toMatch(/"(QueryLanguage|Assign|Arguments|Output)"/);
    expect(text).not.toContain('{%');
  });

  it('calls every function of the workflow and no other', () => {
    const called = ofType('Task').map(
      ([, state]) => state.Parameters?.FunctionName ?? state.Resource,
    );
    expect([...new Set(called)].sort()).toEqual(workflowFunctionNames.map(functionArn).sort());
  });

  it('has names that Step Functions takes', () => {
    for (const [name] of states) expect(name).toMatch(/^[A-Za-z0-9]{1,80}$/);
  });

  it('reaches every state from its start', () => {
    expect([...reachable(definition.StartAt)].sort()).toEqual(states.map(([name]) => name).sort());
  });

  it('can end from every state', () => {
    const ends = states.filter(([, { Type }]) => Type === 'Succeed' || Type === 'Fail');
    for (const [name] of states) {
      const reached = reachable(name);
      expect(
        ends.some(([end]) => reached.has(end)),
        name,
      ).toBe(true);
    }
  });
});

/**
 * What a task is tried again for, by who says so. Everything else is for good: a refusal of IAM, a
 * wrong input, a broken record, a bug.
 */
const passing = {
  // https://docs.aws.amazon.com/step-functions/latest/dg/bp-lambda-serviceexception.html
  lambda: [
    'Lambda.ClientExecutionTimeoutException',
    'Lambda.ServiceException',
    'Lambda.AWSLambdaException',
    'Lambda.SdkClientException',
    'Lambda.TooManyRequestsException',
  ],
  functionDied: ['Sandbox.Timedout', 'Runtime.ExitError', 'Lambda.Unknown'],
  kubernetes: [
    'Kubernetes.throttled',
    'Kubernetes.unreachable',
    'Kubernetes.server',
    'Kubernetes.conflict',
    'Kubernetes.gone',
    'Kubernetes.stale',
    'NodeConflict',
  ],
  // An API server that has just started has not read its roles yet: test/e2e/scenarios.
  kubernetesThatStarts: ['Kubernetes.forbidden', 'Kubernetes.unauthorised'],
  dynamodb: ['State.Unavailable', 'State.Contended'],
  sns: ['Notice.Unavailable'],
  eks: ['Eks.failed'],
  ec2AndAutoScaling: ['Machines.Unavailable', 'Machines.Busy'],
};

describe('a task', () => {
  it.each(ofType('Task'))('%s has a timeout', (_name, state) => {
    expect([state.TimeoutSeconds, state.TimeoutSecondsPath].filter(Boolean)).toHaveLength(1);
  });

  it.each(ofType('Task'))('%s that has a fixed timeout outlives its function', (_name, state) => {
    const seconds = state.TimeoutSeconds ?? Number.POSITIVE_INFINITY;
    expect(seconds).toBeGreaterThan(longestFunctionTimeoutSeconds);
  });

  it.each(ofType('Task'))('%s is tried again after every failure that passes', (name, state) => {
    const retried = (state.Retry ?? []).flatMap(({ ErrorEquals }) => ErrorEquals);
    const waitsForPerson = /^WaitForPerson/.test(name);
    expect(retried.sort()).toEqual(
      [
        // A person has their time once.
        ...(waitsForPerson ? [] : ['States.Timeout']),
        ...Object.values(passing).flat(),
      ].sort(),
    );
  });

  it.each(ofType('Task'))('%s is tried a few times, with time in between', (_name, state) => {
    for (const { IntervalSeconds = 1, MaxAttempts = 3, BackoffRate = 2 } of state.Retry ?? []) {
      expect(IntervalSeconds).toBeGreaterThanOrEqual(2);
      expect(MaxAttempts).toBeGreaterThanOrEqual(2);
      expect(MaxAttempts).toBeLessThanOrEqual(6);
      expect(BackoffRate).toBeGreaterThanOrEqual(2);
    }
  });

  it.each(ofType('Task'))('%s leads to clean-up when it fails', (name, state) => {
    const [last] = (state.Catch ?? []).slice(-1);
    expect(last?.ErrorEquals).toEqual(['States.ALL']);
    const next = { Report: 'Failed', ReleaseSlot: 'Report' }[name] ?? 'ReleaseSlot';
    expect(last?.Next).toBe(next);
  });
});

describe('a wait', () => {
  it.each(ofType('Wait'))('%s takes its seconds from the state', (_name, state) => {
    expect(state.SecondsPath).toMatch(/^\$\.[A-Za-z]+\.[A-Za-z]+$/);
    expect(state).not.toHaveProperty('Seconds');
    expect(state).not.toHaveProperty('Timestamp');
  });
});

describe('a choice', () => {
  it.each(ofType('Choice'))('%s tests flat scalars and has a default', (_name, state) => {
    for (const { Variable, Next, ...test } of state.Choices ?? []) {
      expect(Variable).toMatch(/^\$\.[A-Za-z]+\.[A-Za-z]+$/);
      expect(Next).toBeDefined();
      expect(Object.keys(test)).toEqual(['StringEquals']);
    }
    expect(state.Default).toBeDefined();
  });
});
