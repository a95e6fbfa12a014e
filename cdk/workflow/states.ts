/** What every task and every choice of the workflow has in common. */
import { Duration } from 'aws-cdk-lib';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import {
  type Chain,
  Choice,
  Condition,
  DefinitionBody,
  type IChainable,
  LogLevel,
  type State,
  StateMachine,
  type TaskStateBase,
} from 'aws-cdk-lib/aws-stepfunctions';
import type { Construct } from 'constructs';

/** Failures that pass by themselves. Retried because twice is the same as once for every task. */
const passingErrors = [
  'Kubernetes.throttled',
  'Kubernetes.unreachable',
  'Kubernetes.server',
  'Kubernetes.conflict',
  'Kubernetes.gone',
  'Kubernetes.stale',
  'NodeConflict',
  'State.Unavailable',
  'State.Contended',
  'Notice.Unavailable',
  'Eks.failed',
  'Machines.Unavailable',
  'Machines.Busy',
  'Lambda.TooManyRequestsException',
];

/**
 * An API server that has just started answers so until it has read the roles and bindings. What is
 * denied for good is told a little later for it.
 */
const deniedErrors = ['Kubernetes.forbidden', 'Kubernetes.unauthorised'];

/** A function that took too long or fell over: tried again, but not often. */
const diedErrors = ['Sandbox.Timedout', 'Runtime.ExitError', 'Lambda.Unknown'];

/** Tries a task again where that may help, with more and more time in between. */
export function addRetries(
  state: TaskStateBase,
  options: { alsoTimeouts: boolean } = { alsoTimeouts: true },
) {
  state.addRetry({
    errors: passingErrors,
    interval: Duration.seconds(10),
    backoffRate: 2,
    maxAttempts: 5,
    maxDelay: Duration.seconds(60),
  });
  state.addRetry({
    // The time of a task that waits for a person runs out only once.
    errors: options.alsoTimeouts ? ['States.Timeout', ...diedErrors] : diedErrors,
    interval: Duration.seconds(10),
    maxAttempts: 2,
  });
  state.addRetry({
    errors: deniedErrors,
    interval: Duration.seconds(10),
    maxAttempts: 2,
  });
}

/** A machine whose console tells what happened: traced, every transition logged, without its data. */
export function loggedMachine(
  scope: Construct,
  props: { name: string; first: IChainable; timeout: Duration; logGroup: ILogGroup },
): StateMachine {
  return new StateMachine(scope, 'Machine', {
    stateMachineName: props.name,
    definitionBody: DefinitionBody.fromChainable(props.first),
    timeout: props.timeout,
    tracingEnabled: true,
    logs: { destination: props.logGroup, level: LogLevel.ALL, includeExecutionData: false },
  });
}

/** Adds the Choice that follows what a task answered at `path`. */
export function follow(
  scope: Construct,
  task: State & { next(next: IChainable): Chain },
  path: string,
  routes: Record<string, IChainable>,
  otherwise: IChainable,
): void {
  const choice = new Choice(scope, `After${task.id}`);
  for (const [answer, next] of Object.entries(routes)) {
    choice.when(Condition.stringEquals(path, answer), next);
  }
  choice.otherwise(otherwise);
  task.next(choice);
}
