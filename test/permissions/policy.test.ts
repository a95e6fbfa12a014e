import { describe, expect, it } from 'vitest';
import { type AccessRequest, evaluate, type PolicyStatement } from './policy.ts';

const table = 'arn:aws:dynamodb:eu-west-1:111111111111:table/state';

function allow(fields: Partial<PolicyStatement> = {}): PolicyStatement {
  return { Effect: 'Allow', Action: 'dynamodb:PutItem', Resource: table, ...fields };
}

function put(fields: Partial<AccessRequest> = {}): AccessRequest {
  return { action: 'dynamodb:PutItem', resource: table, context: {}, ...fields };
}

const kindOf = (statements: PolicyStatement[], request = put()) =>
  evaluate(statements, request).kind;

describe('a role', () => {
  it('may do nothing that no statement grants', () => {
    expect(kindOf([])).toBe('not-granted');
    expect(kindOf([allow({ Action: 'dynamodb:GetItem' })])).toBe('not-granted');
  });

  it('may do what one of its statements grants', () => {
    const statement = allow({ Action: ['dynamodb:GetItem', 'dynamodb:PutItem'] });
    expect(evaluate([allow({ Action: 's3:*' }), statement], put())).toEqual({
      kind: 'allowed',
      by: statement,
    });
  });

  it.each([
    ['after', [allow(), allow({ Effect: 'Deny' })]],
    ['before', [allow({ Effect: 'Deny' }), allow()]],
  ])('may not do what is denied %s it is allowed', (_order, statements) => {
    expect(kindOf(statements)).toBe('denied');
  });

  it('is denied only what the Deny is about', () => {
    const deny = allow({ Effect: 'Deny', Action: 'dynamodb:DeleteItem' });
    expect(kindOf([allow({ Action: 'dynamodb:*' }), deny])).toBe('allowed');
  });
});

describe('an action', () => {
  it.each([
    ['dynamodb:PutItem', true],
    ['DynamoDB:putitem', true],
    ['dynamodb:*', true],
    ['dynamodb:P*', true],
    ['dynamodb:?utItem', true],
    ['*', true],
    ['dynamodb:Put', false],
    ['dynamodb:PutItemX', false],
    ['dynamodb.PutItem', false],
    ['dynamodbx*', false],
  ])('%s matches dynamodb:PutItem: %s', (Action, matches) => {
    expect(kindOf([allow({ Action })])).toBe(matches ? 'allowed' : 'not-granted');
  });
});

describe('a resource', () => {
  it.each([
    [table, table, true],
    ['*', table, true],
    ['*', '*', true],
    [table, '*', false],
    [`${table}/index/*`, table, false],
    ['arn:aws:dynamodb:*:*:table/state', table, true],
    ['arn:aws:dynamodb:*:table/state', table, false],
    ['arn:aws:dynamodb:eu-west-1:111111111111:table/st*', table, true],
    ['arn:aws:dynamodb:eu-west-1:222222222222:table/*', table, false],
    ['arn:aws:states:r:1:execution:m:*', 'arn:aws:states:r:1:execution:m:a:b', true],
    ['arn:aws:states:r:1:execution:m:*', 'arn:aws:states:r:1:execution:other:a', false],
    ['arn:aws:lambda:r:1:function:f', 'arn:aws:lambda:r:1:function:f:7', false],
    ['arn:aws:states:r:1:*', 'arn:aws:states:r:1:execution:m:a', true],
  ])('%s matches %s: %s', (Resource, resource, matches) => {
    expect(kindOf([allow({ Resource })], put({ resource }))).toBe(
      matches ? 'allowed' : 'not-granted',
    );
  });

  it('is one of several', () => {
    expect(kindOf([allow({ Resource: ['arn:aws:s3:::bucket', table] })])).toBe('allowed');
  });

  it('takes the signs of a pattern as they are', () => {
    const resource = 'arn:aws:sns:r:1:a.b+c';
    expect(kindOf([allow({ Resource: 'arn:aws:sns:r:1:a.b+c' })], put({ resource }))).toBe(
      'allowed',
    );
    expect(kindOf([allow({ Resource: 'arn:aws:sns:r:1:aXb+c' })], put({ resource }))).toBe(
      'not-granted',
    );
  });
});

describe('a condition', () => {
  const keys = 'dynamodb:LeadingKeys';
  const cases: [string, Record<string, Record<string, string | string[]>>, string[], boolean][] = [
    ['equal', { StringEquals: { [keys]: 'a' } }, ['a'], true],
    ['one of several', { StringEquals: { [keys]: ['b', 'a'] } }, ['a'], true],
    ['not equal', { StringEquals: { [keys]: 'a' } }, ['b'], false],
    ['of another case', { StringEquals: { [keys]: 'a' } }, ['A'], false],
    ['of another case, which is nothing', { StringEqualsIgnoreCase: { [keys]: 'a' } }, ['A'], true],
    ['missing', { StringEquals: { [keys]: 'a' } }, [], false],
    ['missing, where that is no matter', { StringEqualsIfExists: { [keys]: 'a' } }, [], true],
    ['there, and wrong all the same', { StringEqualsIfExists: { [keys]: 'a' } }, ['b'], false],
    ['wanted otherwise', { StringNotEquals: { [keys]: 'a' } }, ['b'], true],
    ['wanted otherwise and missing', { StringNotEquals: { [keys]: 'a' } }, [], true],
    ['not wanted', { StringNotEquals: { [keys]: 'a' } }, ['a'], false],
    ['like it', { StringLike: { [keys]: 'cluster#*' } }, ['cluster#prod'], true],
    ['not like it', { StringLike: { [keys]: 'cluster#*' } }, ['CONFIG'], false],
    ['all of them', { 'ForAllValues:StringEquals': { [keys]: ['a', 'b'] } }, ['a', 'b'], true],
    ['not all of them', { 'ForAllValues:StringEquals': { [keys]: 'a' } }, ['a', 'b'], false],
    ['all of none', { 'ForAllValues:StringEquals': { [keys]: 'a' } }, [], true],
    ['any of them', { 'ForAnyValue:StringEquals': { [keys]: 'a' } }, ['b', 'a'], true],
    ['none of them', { 'ForAnyValue:StringEquals': { [keys]: 'a' } }, ['b'], false],
    ['any of none', { 'ForAnyValue:StringEquals': { [keys]: 'a' } }, [], false],
    ['none of many', { 'ForAllValues:StringNotEquals': { [keys]: 'a' } }, ['b', 'c'], true],
    ['wanted to be there', { Null: { [keys]: 'false' } }, ['a'], true],
    ['wanted to be there and missing', { Null: { [keys]: 'false' } }, [], false],
    ['wanted to be missing', { Null: { [keys]: 'true' } }, [], true],
    ['a truth', { Bool: { [keys]: 'true' } }, ['true'], true],
    [
      'an ARN',
      { ArnLike: { [keys]: 'arn:aws:lambda:*:1:function:f' } },
      ['arn:aws:lambda:r:1:function:f'],
      true,
    ],
    [
      'another ARN',
      { ArnEquals: { [keys]: 'arn:aws:lambda:r:1:function:f' } },
      ['arn:aws:lambda:r:1:function:g'],
      false,
    ],
  ];
  it.each(cases)('is met when the value is %s', (_what, Condition, values, met) => {
    const context = values.length === 0 ? {} : { [keys]: values };
    expect(kindOf([allow({ Condition })], put({ context }))).toBe(met ? 'allowed' : 'not-granted');
  });

  it('counts with all the others', () => {
    const Condition = {
      'ForAllValues:StringEquals': { [keys]: 'CONFIG' },
      Null: { [keys]: 'false' },
    };
    const verdict = (context: Record<string, string[]>) =>
      kindOf([allow({ Condition })], put({ context }));
    expect(verdict({ [keys]: ['CONFIG'] })).toBe('allowed');
    expect(verdict({ [keys]: ['CONFIG', 'x'] })).toBe('not-granted');
    expect(verdict({})).toBe('not-granted');
  });

  it('finds its key whatever the case', () => {
    const Condition = { StringEquals: { 'aws:requestedregion': 'r' } };
    expect(kindOf([allow({ Condition })], put({ context: { 'aws:RequestedRegion': 'r' } }))).toBe(
      'allowed',
    );
  });

  it('of a Deny must be met for it to deny', () => {
    const deny = allow({
      Effect: 'Deny',
      Condition: { 'ForAnyValue:StringEquals': { [keys]: ['CONFIG'] } },
    });
    expect(kindOf([allow(), deny], put({ context: { [keys]: 'other' } }))).toBe('allowed');
    expect(kindOf([allow(), deny], put({ context: { [keys]: ['other', 'CONFIG'] } }))).toBe(
      'denied',
    );
  });
});

describe('what the evaluator does not know', () => {
  it.each([
    [
      'a condition operator',
      allow({ Condition: { NumericLessThan: { k: '1' } } }),
      /NumericLessThan/,
    ],
    ['NotAction', allow({ NotAction: 's3:*' }), /NotAction/],
    ['a policy variable', allow({ Resource: 'arn:aws:s3:::b/$' + '{aws:username}' }), /variables/],
  ])('is no ground for a verdict: %s', (_what, statement, message) => {
    expect(() => evaluate([statement], put())).toThrow(message);
  });
});
