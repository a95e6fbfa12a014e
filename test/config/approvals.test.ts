import { describe, expect, it } from 'vitest';
import { policyFor, strictestPolicy } from '../../lib/config/approval-policy.ts';
import { neverActedOn } from '../../lib/config/approvals-schema.ts';
import { loadConfig } from '../../lib/config/load.ts';
import type { ApprovalsConfig } from '../../lib/config/model.ts';
import { type FaultCause, faultCauses } from '../../lib/gap/fault.ts';
import { ladderOf } from '../../lib/remediation/ladder.ts';

const clusters = 'clusters: [{ name: a, region: eu-west-1 }]\n';

function approvals(yaml: string): ApprovalsConfig {
  return loadConfig(`${clusters}approvals: ${yaml}\n`, 'nodegap.yaml').config.approvals;
}

describe('the approval policy of a node', () => {
  const mixed =
    '{ policy: drain-blocked, pools: { db: always, batch: never }, causes: { volume: never, sandbox: always } }';

  it.each<[string | undefined, FaultCause[], string, string]>([
    // Nothing names the node.
    ['web', ['crash-loop'], 'drain-blocked', 'policy'],
    [undefined, ['crash-loop'], 'drain-blocked', 'policy'],
    // An entry stands in the place of `policy`, also when it is more lenient.
    ['batch', ['crash-loop'], 'never', 'pools.batch'],
    ['web', ['volume'], 'never', 'causes.volume'],
    ['db', ['crash-loop'], 'always', 'pools.db'],
    ['web', ['sandbox'], 'always', 'causes.sandbox'],
    // The stricter of pool and cause.
    ['db', ['volume'], 'always', 'pools.db'],
    ['batch', ['sandbox'], 'always', 'causes.sandbox'],
    ['batch', ['volume'], 'never', 'pools.batch'],
    // The strictest of several faults; one cause does not speak for another.
    ['web', ['volume', 'sandbox'], 'always', 'causes.sandbox'],
    ['web', ['volume', 'crash-loop'], 'drain-blocked', 'policy'],
    ['batch', ['volume', 'crash-loop'], 'never', 'pools.batch'],
    // The cause is not known.
    ['db', [], 'always', 'pools.db'],
    ['web', [], 'drain-blocked', 'policy'],
    // Not a name of ours.
    ['constructor', ['crash-loop'], 'drain-blocked', 'policy'],
  ])('pool %s with %j: %s by %s', (pool, causes, policy, from) => {
    expect(policyFor(approvals(mixed), { pool, causes })).toEqual({ policy, from });
  });

  it('is at its strictest what any entry says, for the time that an execution may take', () => {
    expect(strictestPolicy(approvals('{ policy: never }'))).toBe('never');
    expect(strictestPolicy(approvals('{ policy: never, pools: { db: always } }'))).toBe('always');
    expect(strictestPolicy(approvals('{ policy: never, causes: { volume: drain-blocked } }'))).toBe(
      'drain-blocked',
    );
  });

  it('counts the questions of the strictest entry against the life of an execution', () => {
    const long = 'timings: { approval: 36h }\n';
    expect(() => loadConfig(`${clusters}${long}`, 'nodegap.yaml')).not.toThrow();
    expect(() =>
      loadConfig(`${clusters}${long}approvals: { pools: { db: always } }\n`, 'nodegap.yaml'),
    ).toThrow(/answers of persons \(2\)/);
  });
});

describe('approvals in nodegap.yaml', () => {
  it('have defaults', () => {
    expect(approvals('{}')).toEqual({
      policy: 'drain-blocked',
      pools: {},
      causes: {},
      link: false,
      remindAfter: 4 * 3600,
      escalateAfter: 8 * 3600,
    });
  });

  it.each([
    ['{ pools: { db: sometimes } }', /pools\.db/],
    ['{ causes: { volumes: never } }', /volumes/],
    ['{ causes: { config-error: always } }', /never touches a node for config-error/],
    ['{ remindAfter: soon }', /remindAfter: "soon" is not a duration/],
  ])('refuse %s with a line that says where', (yaml, text) => {
    expect(() => approvals(yaml)).toThrow(text);
  });

  it('refuse exactly the causes for which a node is never touched', () => {
    const handsOff = faultCauses.filter((cause) => ladderOf(cause).kind === 'hands-off');
    expect([...neverActedOn].sort()).toEqual(handsOff.sort());
  });
});
