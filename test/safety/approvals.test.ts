import { beforeEach, describe, expect, it } from 'vitest';
import { type ApprovalRequest, Approvals } from '../../lib/safety/approvals.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { sampleFacts } from './question-samples.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
const hour = 3_600_000;

let now: number;
let table: MemoryTable;
let approvals: Approvals;

beforeEach(() => {
  now = start;
  table = new MemoryTable();
  let ids = 0;
  approvals = new Approvals(
    table,
    { now: () => now },
    {
      newId: () => {
        ids += 1;
        return `id-${ids}`;
      },
    },
  );
});

function question(overrides: Partial<ApprovalRequest> = {}): ApprovalRequest {
  return {
    cluster: 'prod',
    node: 'n1',
    nodeUid: 'uid-1',
    episode: 1,
    attempt: 2,
    execution: 'arn:execution',
    question: 'replace',
    facts: sampleFacts(start),
    taskToken: 'secret-token',
    deadline: start + 12 * hour,
    ...overrides,
  };
}

const approve = { decision: 'approve', by: 'ana', at: start, via: 'cli' } as const;

describe('request', () => {
  it('asks once for the same execution, question and round', async () => {
    await expect(approvals.request(question())).resolves.toBe('id-1');
    await expect(approvals.request(question())).resolves.toBe('id-1');
    await expect(approvals.request(question({ round: 1 }))).resolves.toBe('id-1');
    await expect(approvals.list()).resolves.toHaveLength(1);
    const others = [
      question({ round: 2 }),
      question({ question: 'drain-blocked' }),
      question({ execution: 'arn:other' }),
    ];
    const ids = await Promise.all(others.map((other) => approvals.request(other)));
    expect(new Set(['id-1', ...ids]).size).toBe(4);
  });

  it('asks anew when another task asks after the question was decided or ran out', async () => {
    const blocked = { question: 'drain-blocked', decision: 'retry' } as const;
    const ask = (taskToken: string) =>
      approvals.request(question({ question: blocked.question, taskToken }));
    const first = await ask('token-1');
    await approvals.decide(first, { ...approve, decision: blocked.decision });
    await expect(ask('token-1')).resolves.toBe(first);
    const second = await ask('token-2');
    expect(second).not.toBe(first);
    now = start + 12 * hour;
    const third = await ask('token-3');
    const rounds = (await approvals.list()).map(({ id, round }) => [id, round]);
    expect(rounds).toEqual([
      [first, 1],
      [second, 2],
      [third, 3],
    ]);
    await expect(approvals.tokenOf(second)).resolves.toBe('token-2');
  });

  it('keeps the id of a round that the caller counts, also once it is decided', async () => {
    const id = await approvals.request(question({ round: 1 }));
    await approvals.decide(id, approve);
    const again = question({ round: 1, taskToken: 'newer-token' });
    await expect(approvals.request(again)).resolves.toBe(id);
  });

  it('asks once when two ask at the same moment', async () => {
    const ids = await Promise.all([approvals.request(question()), approvals.request(question())]);
    expect(new Set(ids).size).toBe(1);
    await expect(approvals.list()).resolves.toHaveLength(1);
  });

  it('keeps the newest token, since a retried task brings a new one', async () => {
    const id = await approvals.request(question());
    await approvals.request(question({ taskToken: 'newer-token' }));
    await expect(approvals.decide(id, approve)).resolves.toMatchObject({
      kind: 'decided',
      taskToken: 'newer-token',
    });
  });
});

describe('list and get', () => {
  it('are found by their execution without reading any other', async () => {
    const first = await approvals.request(question());
    now += hour;
    const second = await approvals.request(question({ question: 'drain-blocked' }));
    await approvals.request(question({ execution: 'arn:execution-2' }));
    const partitions: string[] = [];
    const query = table.query.bind(table);
    table.query = async (pk, prefix) => {
      const items = await query(pk, prefix);
      partitions.push(`${pk}: ${items.length}`);
      return items;
    };
    const found = await approvals.ofExecution('arn:execution');
    expect(found.map(({ id }) => id)).toEqual([first, second]);
    expect(partitions).toEqual(['approval-rounds: 2']);
    expect(await approvals.ofExecution('arn:exec')).toEqual([]);
  });

  it('show questions of one cluster or of all, oldest first, and never a token', async () => {
    await approvals.request(question({ execution: 'b' }));
    now += 1;
    await approvals.request(question({ execution: 'a' }));
    now += 1;
    await approvals.request(question({ execution: 'c', cluster: 'staging' }));
    const all = await approvals.list();
    expect(all.map(({ execution }) => execution)).toEqual(['b', 'a', 'c']);
    expect((await approvals.list('staging')).map(({ id }) => id)).toEqual(['id-3']);
    const shown = JSON.stringify([all, await approvals.get('id-1')]);
    expect(shown).toContain('shop/web-1');
    expect(shown).not.toContain('secret-token');
  });
});

describe('decide', () => {
  it('decides exactly once, and says who did', async () => {
    const id = await approvals.request(question());
    await expect(approvals.decide(id, approve)).resolves.toMatchObject({
      kind: 'decided',
      taskToken: 'secret-token',
      approval: { id, node: 'n1', decided: approve },
    });
    await expect(
      approvals.decide(id, {
        decision: 'deny',
        by: 'bo',
        at: start + 5,
        via: 'link',
        address: '203.0.113.7',
      }),
    ).resolves.toEqual({ kind: 'already-decided', ...approve });
    await expect(approvals.get(id)).resolves.toMatchObject({ decided: approve });
  });

  it('lets one of two who decide at the same moment decide', async () => {
    const id = await approvals.request(question());
    const outcomes = await Promise.all([
      approvals.decide(id, approve),
      approvals.decide(id, { decision: 'deny', by: 'bo', at: start, via: 'cli' }),
    ]);
    expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['already-decided', 'decided']);
    expect(outcomes[1]).toMatchObject(
      outcomes[0].kind === 'decided' ? { decision: 'approve' } : { kind: 'decided' },
    );
  });

  it('comes too late at the deadline: no answer is a no', async () => {
    const id = await approvals.request(question());
    now = start + 12 * hour - 1;
    await expect(approvals.decide('unknown', approve)).resolves.toEqual({ kind: 'not-found' });
    now += 1;
    await expect(approvals.decide(id, approve)).resolves.toEqual({ kind: 'expired' });
    await expect(approvals.get(id)).resolves.not.toHaveProperty('decided');
  });

  it('still says who decided after the deadline', async () => {
    const id = await approvals.request(question());
    await approvals.decide(id, approve);
    now = start + 99 * hour;
    await expect(approvals.decide(id, approve)).resolves.toMatchObject({ kind: 'already-decided' });
  });

  it.each([
    ['replace', 'retry'],
    ['replace', 'release'],
    ['drain-blocked', 'approve'],
    ['drain-blocked', 'deny'],
  ] as const)('does not take for %s the answer %s', async (asked, decision) => {
    const id = await approvals.request(question({ question: asked }));
    await expect(approvals.decide(id, { ...approve, decision })).rejects.toMatchObject({
      code: 'Usage',
      message: expect.stringContaining(`not ${decision}`),
    });
    await expect(approvals.get(id)).resolves.not.toHaveProperty('decided');
  });

  it('does not take an answer from nobody', async () => {
    const id = await approvals.request(question());
    await expect(approvals.decide(id, { ...approve, by: ' ' })).rejects.toMatchObject({
      code: 'Usage',
    });
  });

  it('keeps the token, so that a decision whose delivery failed can be sent again', async () => {
    const id = await approvals.request(question());
    await approvals.decide(id, approve);
    await expect(approvals.tokenOf(id)).resolves.toBe('secret-token');
    await expect(approvals.tokenOf('unknown')).resolves.toBeUndefined();
  });
});

describe('settle', () => {
  const why = {
    code: 'recovered',
    message: 'all Ready',
    scope: { kind: 'pool', name: 'p' },
  } as const;
  const recovered = { decision: 'recovered', at: start + hour, why } as const;

  async function asked() {
    const id = await approvals.request(question());
    const approval = await approvals.get(id);
    if (approval === undefined) throw new Error('it was not kept');
    return approval;
  }

  it('closes a question in the name of nodegap, with the reason', async () => {
    const approval = await asked();
    const outcome = await approvals.settle(approval, recovered);
    expect(outcome).toMatchObject({ kind: 'decided', taskToken: 'secret-token' });
    const decided = { decision: 'recovered', by: 'nodegap', at: start + hour, why };
    expect((await approvals.get(approval.id))?.decided).toEqual(decided);
    await expect(approvals.decide(approval.id, approve)).resolves.toEqual({
      kind: 'already-decided',
      ...decided,
    });
  });

  it('does not count after the answer of a person', async () => {
    const approval = await asked();
    await approvals.decide(approval.id, approve);
    await expect(approvals.settle(approval, recovered)).resolves.toEqual({
      kind: 'already-decided',
      ...approve,
    });
  });

  it('and an answer at the same moment: one of them counts', async () => {
    const approval = await asked();
    const outcomes = await Promise.all([
      approvals.settle(approval, recovered),
      approvals.decide(approval.id, approve),
      approvals.settle(approval, { ...recovered, decision: 'gone' }),
    ]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual([
      'already-decided',
      'already-decided',
      'decided',
    ]);
  });

  it('keeps since when the node has been well, while nobody has decided', async () => {
    const { id } = await asked();
    await approvals.noteHealthy(id, start);
    expect((await approvals.get(id))?.healthySince).toBe(start);
    await approvals.noteHealthy(id, undefined);
    expect((await approvals.get(id))?.healthySince).toBeUndefined();
    await approvals.decide(id, approve);
    await approvals.noteHealthy(id, start);
    expect((await approvals.get(id))?.healthySince).toBeUndefined();
    await approvals.noteHealthy('unknown', start);
    await expect(approvals.get('unknown')).resolves.toBeUndefined();
  });
});
