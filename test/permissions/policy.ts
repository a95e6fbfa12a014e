/**
 * Decides as IAM does whether the policies of one role allow a call.
 *
 * How it works: a Deny that matches wins, else an Allow that matches, else nothing was granted. A
 * statement matches by action, resource and all of its conditions.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html
 *
 * Gotcha: it knows no NotAction, NotResource, policy variables or other kinds of policies, and
 * throws on what it does not know: a proof must not rest on a guess.
 */
export type Values = string | readonly string[];

export interface PolicyStatement {
  Effect: 'Allow' | 'Deny';
  Action: Values;
  Resource: Values;
  /** Operator, then condition key, then what is compared with. */
  Condition?: Record<string, Record<string, Values>>;
  [field: string]: unknown;
}

/** One action on one resource, with what the service tells IAM about it. */
export interface AccessRequest {
  action: string;
  /** An ARN, or `*` for an action that knows no resource. */
  resource: string;
  /** Condition keys with their values; a key without a value is left out. */
  context: Readonly<Record<string, Values>>;
}

export type Verdict =
  | { kind: 'allowed'; by: PolicyStatement }
  | { kind: 'denied'; by: PolicyStatement }
  | { kind: 'not-granted' };

export function evaluate(statements: readonly PolicyStatement[], request: AccessRequest): Verdict {
  for (const statement of statements) refuseUnknown(statement);
  const matching = statements.filter((statement) => matches(statement, request));
  const denied = matching.find(({ Effect }) => Effect === 'Deny');
  if (denied !== undefined) return { kind: 'denied', by: denied };
  const [allowed] = matching;
  return allowed === undefined ? { kind: 'not-granted' } : { kind: 'allowed', by: allowed };
}

/** Whether a statement is about that action at all; `*` and `?` are wildcards, case is nothing. */
export function namesAction({ Action }: PolicyStatement, action: string): boolean {
  return listOf(Action).some((pattern) => like(pattern.toLowerCase(), action.toLowerCase()));
}

function matches(
  statement: PolicyStatement,
  { action, resource, context }: AccessRequest,
): boolean {
  return (
    namesAction(statement, action) &&
    listOf(statement.Resource).some((pattern) => resourceLike(pattern, resource)) &&
    Object.entries(statement.Condition ?? {}).every(([operator, tests]) =>
      Object.entries(tests).every(([key, wanted]) =>
        holds(operator, listOf(wanted), valuesOf(context, key)),
      ),
    )
  );
}

const known = new Set(['Effect', 'Action', 'Resource', 'Condition', 'Sid']);

function refuseUnknown(statement: PolicyStatement): void {
  const unknown = Object.keys(statement).find((field) => !known.has(field));
  if (unknown !== undefined) throw new Error(`the evaluator knows no ${unknown} in a statement`);
  const texts = [statement.Action, statement.Resource].flatMap(listOf);
  // `${aws:username}` and its like stand for values of the request.
  const variable = texts.find((text) => text.includes('${'));
  if (variable !== undefined)
    throw new Error(`the evaluator knows no policy variables: ${variable}`);
}

/** A resource pattern matches part by part: a `*` in the first five parts of an ARN stays in it. */
function resourceLike(pattern: string, resource: string): boolean {
  if (pattern === '*') return true;
  const [patterns, parts] = [partsOf(pattern), partsOf(resource)];
  return (
    patterns.length === parts.length && patterns.every((each, i) => like(each, parts[i] ?? ''))
  );
}

/** The parts of an ARN; the sixth keeps its colons. */
function partsOf(arn: string): string[] {
  const parts = arn.split(':');
  return [...parts.slice(0, 5), parts.slice(5).join(':')];
}

const operators: Record<string, (wanted: string, value: string) => boolean> = {
  StringEquals: (wanted, value) => wanted === value,
  StringEqualsIgnoreCase: (wanted, value) => wanted.toLowerCase() === value.toLowerCase(),
  StringLike: like,
  ArnEquals: resourceLike,
  ArnLike: resourceLike,
  Bool: (wanted, value) => wanted.toLowerCase() === value.toLowerCase(),
};

/**
 * One test of a condition. A key that the request does not have fails it, but for negated
 * operators, `…IfExists` and ForAllValues; Null asks for just that.
 */
function holds(operator: string, wanted: string[], values: string[]): boolean {
  if (operator === 'Null') return wanted.includes(String(values.length === 0));
  const [, set, name = '', ifExists] =
    /^(?:(ForAllValues|ForAnyValue):)?(.*?)(IfExists)?$/.exec(operator) ?? [];
  if (ifExists !== undefined && values.length === 0) return true;
  const negated = /^(String|Arn)Not/.test(name);
  const compare = operators[name.replace('Not', '')];
  if (compare === undefined)
    throw new Error(`the evaluator knows no condition operator ${operator}`);
  const one = (value: string) => wanted.some((each) => compare(each, value)) !== negated;
  if (set === 'ForAllValues') return values.every(one);
  if (set === 'ForAnyValue') return values.some(one);
  return values.length === 0 ? negated : values.every(one);
}

/** Names of condition keys have no case. */
function valuesOf(context: AccessRequest['context'], key: string): string[] {
  return Object.entries(context)
    .filter(([name]) => name.toLowerCase() === key.toLowerCase())
    .flatMap(([, values]) => listOf(values));
}

function like(pattern: string, text: string): boolean {
  const literal = pattern.replace(/[\\^$.+()|[\]{}]/g, '\\$&');
  return new RegExp(`^${literal.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's').test(text);
}

function listOf(values: Values): string[] {
  return typeof values === 'string' ? [values] : [...values];
}
