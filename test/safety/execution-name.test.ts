import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { executionName } from '../../lib/safety/episodes.ts';

const input = {
  cluster: 'prod',
  clusterArn: 'arn:aws:eks:eu-west-1:111122223333:cluster/prod',
  nodeUid: '6f1b2c3d-0000-4000-8000-000000000001',
  episode: 1,
  attempt: 2,
};

describe('executionName', () => {
  it('is cluster, 16 hex digits for cluster and node, episode, attempt', () => {
    const hex = createHash('sha256').update(`${input.clusterArn}\n${input.nodeUid}`).digest('hex');
    expect(executionName(input)).toBe(`prod-${hex.slice(0, 16)}-e1-a2`);
  });

  it('tells clusters of one name apart by their ARN, and nodes of one name by their uid', () => {
    const names = [
      input,
      { ...input, clusterArn: input.clusterArn.replace('eu-west-1', 'us-east-1') },
      { ...input, nodeUid: 'another' },
      { ...input, episode: 2 },
      { ...input, attempt: 3 },
    ].map(executionName);
    expect(new Set(names).size).toBe(5);
  });

  it('has at most 80 legal characters for any cluster and any numbers', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 120 }),
        fc.integer({ min: 1, max: 1e9 }),
        fc.integer({ min: 1, max: 1e9 }),
        (cluster, episode, attempt) => {
          const name = executionName({ ...input, cluster, episode, attempt });
          expect(name).toMatch(/^[0-9A-Za-z_-]{1,80}$/);
        },
      ),
    );
  });

  it.each([0, -1, 1.5, Number.NaN])('refuses attempt %d', (attempt) => {
    expect(() => executionName({ ...input, attempt })).toThrow('attempt');
  });
});
