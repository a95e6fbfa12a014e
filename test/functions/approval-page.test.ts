import { beforeEach, describe, expect, it } from 'vitest';
import { linkFor } from '../../functions/shared/approval-link.ts';
import { NodegapError } from '../../lib/errors.ts';
import { setOf } from '../../lib/safety/item-fields.ts';
import { AskedQuestion, approval, hour, node, start, taskToken } from './approval-page-fixture.ts';

let asked: AskedQuestion;
beforeEach(async () => {
  asked = await new AskedQuestion().ask();
});

async function expectUndecided(): Promise<void> {
  expect((await asked.read()).decided).toBeUndefined();
  expect(asked.answers).toEqual([]);
}

describe('opening the page', () => {
  it('shows the facts and the form', async () => {
    const { statusCode, body } = await asked.send('GET');
    expect(statusCode).toBe(200);
    for (const fact of [
      node,
      'kube-system/aws-node',
      'sandbox',
      'node: 9 of 10 nodes run the same revision',
      'failed to set up the network of the sandbox',
      'evict 2 pods',
      'Would be evicted: 2 pods',
      'shop/tool: has no controller',
      'shop/db allows 0 disruptions now',
      '2d',
      '2026-12-01T00:00:00Z (in 12h)',
      `nodegap approvals deny ${asked.id}`,
    ]) {
      expect(body).toContain(fact);
    }
    expect(body).toMatch(/Whoever holds this link can answer/);
    expect(body.match(/<h1/g)).toHaveLength(1);
  });

  it.each(['', 'decision=approve&name=Ann&confirm=approve%20ip-10-0-12-34', 'approve'])(
    'decides nothing whatever the query is: %s',
    async (query) => {
      for (const method of ['GET', 'HEAD', 'get']) {
        expect((await asked.send(method, { query })).statusCode).toBe(200);
      }
      await expectUndecided();
    },
  );

  it('decides nothing by a body either', async () => {
    const body = new URLSearchParams(approval).toString();
    expect((await asked.send('GET', { body })).statusCode).toBe(200);
    await expectUndecided();
  });

  it('answers HEAD as GET, without the body', async () => {
    const [get, head] = [await asked.send('GET'), await asked.send('HEAD')];
    expect(head).toEqual({ ...get, body: '' });
  });

  it('has no script, no link, nothing from elsewhere, and nothing filled in', async () => {
    const { body } = await asked.send('GET');
    expect(body).not.toMatch(/<script|<a |<img|<iframe|<link|<object|javascript:|\son\w+=/i);
    expect(body).not.toMatch(/https?:/);
    expect(body).not.toMatch(/\schecked|\sselected|type="hidden"|placeholder=/);
    expect(body.match(/<input [^>]*>/g)?.length).toBe(4);
    expect(body).not.toContain(asked.secret);
    expect(body).not.toContain(taskToken);
  });

  it('says nowhere the words that have to be typed', async () => {
    for (const question of ['replace', 'drain-blocked'] as const) {
      const other = await new AskedQuestion().ask(question);
      const text = (await other.send('GET')).body.replace(/<[^>]*>|\s+/g, ' ').toLowerCase();
      for (const answer of ['approve', 'deny', 'retry', 'proceed', 'release']) {
        expect(text).not.toMatch(new RegExp(`${answer}\\s+ip-10-0-12-34`));
      }
    }
  });

  it('sends headers that keep it out of caches, frames, indexes and referrers', async () => {
    for (const response of [
      await asked.send('GET'),
      await asked.send('PUT'),
      await asked.post({}),
      await asked.send('GET', { secret: 'wrong' }),
    ]) {
      expect(response.headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-robots-tag': expect.stringContaining('noindex'),
        'x-content-type-options': 'nosniff',
        'content-security-policy': expect.stringMatching(
          /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
        ),
      });
    }
  });

  it('escapes what clusters and people say', async () => {
    const evil = '<script>alert(1)</script>"\'><img src=x onerror=alert(2)>\u202e';
    const hostile = await new AskedQuestion().ask('replace', {
      node: evil,
      asks: evil,
      pool: evil,
      drain: evil,
      budgets: [evil],
      unread: [evil],
      faults: [
        {
          subject: evil,
          text: evil,
          cause: evil,
          blame: evil,
          blameReason: evil,
          since: start,
          message: evil,
        },
      ],
    });
    const pages = [
      await hostile.send('GET'),
      await hostile.post({ ...approval, name: evil }),
      await hostile.post({ decision: 'approve', name: evil.slice(0, 40), confirm: evil }),
    ];
    await hostile.approvals.decide(hostile.id, {
      decision: 'deny',
      by: evil,
      at: start,
      via: 'cli',
    });
    pages.push(await hostile.send('GET'));
    for (const { body } of pages) {
      expect(body).not.toMatch(/<script|<img|\u202e/);
      expect(body).toContain('&lt;script&gt;');
    }
  });
});

describe('a complete answer', () => {
  it('decides with time, typed name and source address, and goes to the task that waits', async () => {
    asked.now = start + hour;
    const { statusCode, body } = await asked.post(approval);
    expect(statusCode).toBe(200);
    expect(body).toContain('Taken: approve.');
    const decided = {
      decision: 'approve',
      by: 'Ann Example',
      at: start + hour,
      via: 'link',
      address: '203.0.113.7',
    };
    expect((await asked.read()).decided).toEqual(decided);
    expect(asked.answers).toEqual([{ token: taskToken, output: decided }]);
    expect(asked.logs).toEqual([
      {
        level: 'info',
        message: 'approval answered',
        fields: expect.objectContaining({
          cluster: 'prod',
          node,
          nodeUid: 'uid-1',
          episode: 1,
          execution: 'arn:execution',
          approval: asked.id,
          decision: 'approve',
          by: 'Ann Example',
          via: 'link',
          address: '203.0.113.7',
        }),
      },
    ]);
  });

  it.each([
    ['in other case and spacing', 'replace', { confirm: '  APPROVE   Ip-10-0-12-34 ' }],
    ['with the whole name', 'replace', { confirm: `approve ${node}` }],
    ['of another word', 'replace', { decision: 'deny', confirm: 'deny ip-10-0-12-34' }],
    ['about a drain', 'drain-blocked', { decision: 'release', confirm: 'release ip-10-0-12-34' }],
  ] as const)('counts %s', async (_what, question, typed) => {
    asked = await new AskedQuestion().ask(question);
    expect((await asked.post({ ...approval, ...typed })).statusCode).toBe(200);
    expect(asked.answers).toHaveLength(1);
  });

  it('counts as plain text too, as an HTTP API hands on other types', async () => {
    const body = new URLSearchParams(approval).toString();
    const contentType = 'Application/X-WWW-Form-Urlencoded; charset=UTF-8';
    expect((await asked.send('POST', { body, contentType })).statusCode).toBe(200);
  });

  it('has an example that is not the confirmation, whatever the node is called', async () => {
    await asked.ask('drain-blocked', { node: 'blue-7' });
    const { body } = await asked.send('GET');
    expect(body).not.toContain('retry blue-7');
    expect(body).toContain('retry red-3');
  });

  it('wants the whole name of a node that is called by its address', async () => {
    asked = await new AskedQuestion().ask('replace', { node: '10.0.0.5' });
    expect((await asked.post({ ...approval, confirm: 'approve 10' })).statusCode).toBe(422);
    expect((await asked.post({ ...approval, confirm: 'approve 10.0.0.5' })).statusCode).toBe(200);
  });
});

describe('an incomplete answer', () => {
  const cases: [string, Record<string, string>, RegExp][] = [
    ['nothing', {}, /Pick one: approve or deny/],
    ['no decision', { name: 'Ann', confirm: 'approve ip-10-0-12-34' }, /Pick one/],
    ['an answer to another question', { ...approval, decision: 'retry' }, /Pick one/],
    ['a decision of nodegap itself', { ...approval, decision: 'recovered' }, /Pick one/],
    ['no name', { ...approval, name: '' }, /Type your name/],
    ['a blank name', { ...approval, name: ' \t ' }, /Type your name/],
    ['a name without letters', { ...approval, name: '12345' }, /not a name/],
    ['a name with unseen characters', { ...approval, name: 'An\u202en' }, /not a name/],
    ['a name that looks empty', { ...approval, name: 'a\u3164' }, /not a name/],
    [
      'the name of nodegap with a soft hyphen',
      { ...approval, name: 'node\u00adgap' },
      /not a name/,
    ],
    ['the name of nodegap with a joiner', { ...approval, name: 'node\u200dgap' }, /your own name/],
    [
      'the name of nodegap in wide letters',
      { ...approval, name: 'ｎｏｄｅｇａｐ' },
      /your own name/,
    ],
    ['a long name', { ...approval, name: 'a'.repeat(81) }, /more than 80 characters/],
    ['the name of nodegap', { ...approval, name: 'Nodegap' }, /your own name/],
    ['no confirmation', { ...approval, confirm: '' }, /Type the confirmation/],
    ['the node alone', { ...approval, confirm: 'ip-10-0-12-34' }, /not the word/],
    ['the whole node alone', { ...approval, confirm: node }, /not the word/],
    ['the word alone', { ...approval, confirm: 'approve' }, /not the word/],
    [
      'the word of the other answer',
      { ...approval, confirm: 'deny ip-10-0-12-34' },
      /not the word/,
    ],
    ['another node', { ...approval, confirm: 'approve ip-10-0-12-35' }, /not the word/],
    ['the example of the page', { ...approval, confirm: 'approve blue-7' }, /not the word/],
    [
      'a long confirmation',
      { ...approval, confirm: `approve${' '.repeat(400)}ip-10-0-12-34` },
      /not/,
    ],
    [
      'a text that was made up',
      { decision: 'approve', name: 'test', confirm: 'test' },
      /not the word/,
    ],
  ];
  it.each(cases)('is refused, and changes nothing: %s', async (_what, fields, says) => {
    const { statusCode, body } = await asked.post(fields);
    expect(statusCode).toBe(422);
    expect(body).toMatch(says);
    expect(body).toContain('<form');
    expect(body).not.toMatch(/<input[^>]*\schecked/);
    await expectUndecided();
  });

  it('has each field once', async () => {
    for (const field of ['decision', 'name', 'confirm'] as const) {
      const twice = new URLSearchParams(approval);
      twice.append(field, approval[field]);
      const { statusCode } = await asked.send('POST', { body: twice.toString() });
      expect(statusCode, field).toBe(422);
    }
    await expectUndecided();
  });

  it('keeps the name for mending, and nothing else', async () => {
    const { body } = await asked.post({ ...approval, confirm: 'wrong words' });
    expect(body).toContain('value="Ann Example"');
    expect(body).not.toContain('wrong words');
    expect(body).toMatch(
      /id="confirm"[^>]*aria-describedby="confirm-help confirm-wrong"[^>]*aria-invalid="true"/,
    );
  });

  it.each([
    ['JSON', 'application/json', JSON.stringify(approval), 415],
    ['a form with files', 'multipart/form-data; boundary=x', '--x--', 415],
    ['no type', '', new URLSearchParams(approval).toString(), 415],
    [
      'too much',
      'application/x-www-form-urlencoded',
      `${new URLSearchParams(approval)}&more=${'x'.repeat(5000)}`,
      413,
    ],
  ])('is refused as %s', async (_what, contentType, body, statusCode) => {
    expect((await asked.send('POST', { contentType, body })).statusCode).toBe(statusCode);
    await expectUndecided();
  });
});

describe('another method', () => {
  it.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'BREW'])(
    '%s is refused',
    async (method) => {
      const body = new URLSearchParams(approval).toString();
      const { statusCode, headers } = await asked.send(method, { body });
      expect(statusCode).toBe(405);
      expect(headers.allow).toBe('GET, HEAD, POST');
      await expectUndecided();
    },
  );
});

describe('a link that is not right', () => {
  it.each([
    ['an unknown question', { id: 'question-99' }],
    ['a wrong secret', { secret: 'y'.repeat(43) }],
    ['a secret that is cut short', { secret: 'secret-1' }],
    ['the id in place of the secret', { secret: 'question-1' }],
    ['an empty secret', { secret: '' }],
    ['an id that no table could hold', { id: 'x'.repeat(2000) }],
  ])('looks the same and changes nothing: %s', async (_what, sent) => {
    const reference = await asked.send('GET', { id: 'nobody', secret: 'nothing' });
    expect(reference.statusCode).toBe(404);
    expect(await asked.send('GET', sent)).toEqual(reference);
    expect(await asked.post(approval, sent)).toEqual(reference);
    await expectUndecided();
  });

  it('is not looked for under an id that is longer than a key of the table', async () => {
    const read: string[] = [];
    const get = asked.table.get.bind(asked.table);
    asked.table.get = async (key) => {
      read.push(key.sk);
      return get(key);
    };
    // DynamoDB refuses it with an error: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
    expect((await asked.send('GET', { id: 'ü'.repeat(600) })).statusCode).toBe(404);
    expect(read).toEqual([]);
  });

  it('looks the same when the secret belongs to another question', async () => {
    const { secret } = asked;
    const [mine] = [asked.id];
    await asked.ask('drain-blocked');
    expect(asked.id).not.toBe(mine);
    expect((await asked.send('GET', { secret })).statusCode).toBe(404);
    expect((await asked.send('GET', { id: mine, secret })).statusCode).toBe(200);
  });

  it('looks the same while the page is switched off', async () => {
    const reference = await asked.send('GET', { secret: 'wrong' });
    asked.configure('approvals: { link: false }');
    expect(await asked.send('GET')).toEqual(reference);
    expect(await asked.post(approval)).toEqual(reference);
    await expectUndecided();
  });
});

describe('an answer that comes second', () => {
  it('changes nothing: the same one again', async () => {
    await asked.post(approval);
    const first = (await asked.read()).decided;
    asked.now += hour;
    const { statusCode, body } = await asked.post(approval);
    expect(statusCode).toBe(409);
    expect(body).toContain('Answered already: approve.');
    expect(body).not.toContain('<form');
    expect((await asked.read()).decided).toEqual(first);
  });

  it('changes nothing: another one, after the CLI', async () => {
    await asked.approvals.decide(asked.id, { decision: 'deny', by: 'bob', at: start, via: 'cli' });
    expect((await asked.post(approval)).statusCode).toBe(409);
    expect((await asked.read()).decided).toMatchObject({ decision: 'deny', by: 'bob' });
    // The first answer is handed on again: its delivery may have been lost.
    expect(asked.answers.map(({ output }) => output.decision)).toEqual(['deny']);
  });

  it('is not even handed on again by an incomplete form', async () => {
    await asked.approvals.decide(asked.id, { decision: 'deny', by: 'bob', at: start, via: 'cli' });
    expect((await asked.post({})).statusCode).toBe(409);
    expect(asked.answers).toEqual([]);
  });

  it('is told who answered when the page is opened', async () => {
    await asked.approvals.decide(asked.id, { decision: 'deny', by: 'bob', at: start, via: 'cli' });
    const { statusCode, body } = await asked.send('GET');
    expect(statusCode).toBe(200);
    expect(body).toContain('By bob through the CLI');
    expect(body).not.toContain('<form');
  });

  it('finds that no answer is needed any more', async () => {
    const why = { code: 'recovered', message: 'the node has recovered' };
    await asked.approvals.settle(await asked.read(), { decision: 'recovered', at: start, why });
    expect((await asked.send('GET')).body).toContain('the node has recovered (recovered)');
    expect((await asked.post(approval)).statusCode).toBe(409);
  });

  it('loses a race: of many at once, one counts', async () => {
    const deny = { ...approval, decision: 'deny', confirm: 'deny ip-10-0-12-34' };
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, i) => asked.post(i % 2 === 0 ? approval : deny)),
    );
    const codes = responses.map(({ statusCode }) => statusCode).sort();
    expect(codes).toEqual([200, ...Array(9).fill(409)]);
    const { decision } = (await asked.read()).decided ?? {};
    expect(new Set(asked.answers.map(({ output }) => output.decision))).toEqual(
      new Set([decision]),
    );
  });
});

describe('after the deadline', () => {
  it.each([12 * hour, 13 * hour])('nothing is taken, %s ms after the question', async (later) => {
    asked.now = start + later;
    for (const response of [
      await asked.send('GET'),
      await asked.post(approval),
      await asked.post({}),
    ]) {
      expect(response.statusCode).toBe(410);
      expect(response.body).toContain('Too late.');
      expect(response.body).not.toContain('<form');
    }
    await expectUndecided();
  });

  it('an answer is taken until then', async () => {
    asked.now = start + 12 * hour - 1;
    expect((await asked.post(approval)).statusCode).toBe(200);
  });
});

describe('when something fails', () => {
  it('says so when nobody waits any more', async () => {
    asked.handOn = () => false;
    const { statusCode, body } = await asked.post(approval);
    expect(statusCode).toBe(409);
    expect(body).toContain('no longer waits');
  });

  it('keeps an answer that could not be handed on, and hands it on when it is sent again', async () => {
    asked.handOn = () => {
      throw new NodegapError('Throttled', 'the service is busy');
    };
    const failed = await asked.post(approval);
    expect(failed.statusCode).toBe(503);
    expect(failed.headers['retry-after']).toBe('60');
    asked.handOn = () => true;
    expect((await asked.post(approval)).statusCode).toBe(409);
    expect(asked.answers.at(-1)).toMatchObject({ token: taskToken, output: { by: 'Ann Example' } });
  });

  it('answers 503 when the table cannot be read', async () => {
    asked.table.get = async () => {
      throw new NodegapError('State.Unreachable', 'no table');
    };
    expect((await asked.send('GET')).statusCode).toBe(503);
    expect(asked.logs.map(({ level }) => level)).toEqual(['error']);
  });

  it('refuses what no HTTP API sends', async () => {
    await expect(asked.send('GET', { secret: undefined as never, id: 7 as never })).rejects.toThrow(
      expect.objectContaining({ code: 'BadInput' }),
    );
  });
});

describe('the secret', () => {
  it('is kept as its sha256 only, and shows in no list, log or answer', async () => {
    await asked.send('GET');
    await asked.post({ ...approval, confirm: 'no' });
    await asked.post(approval);
    await asked.post(approval);
    const partitions = ['approvals', 'approval-links', 'approval-tokens', 'approval-rounds'];
    const items = await Promise.all(partitions.map((pk) => asked.table.query(pk, '')));
    const [link] = items[1] ?? [];
    expect(link?.hashes).toEqual(new Set([expect.stringMatching(/^[0-9a-f]{64}$/)]));
    const everything = [items, asked.logs, asked.answers, await asked.approvals.list()];
    const text = JSON.stringify(everything, (_key, value) =>
      value instanceof Set ? [...value] : value,
    );
    expect(text).not.toContain(asked.secret);
    const [hash = ''] = setOf(link, 'hashes');
    expect(hash).not.toBe('');
    expect(JSON.stringify([asked.logs, asked.answers, await asked.approvals.list()])).not.toContain(
      hash,
    );
  });

  it('is another one in each notice, and all of them open the question', async () => {
    const first = asked.secret;
    await asked.ask();
    expect(asked.secret).not.toBe(first);
    for (const secret of [first, asked.secret]) {
      expect((await asked.send('GET', { secret })).statusCode).toBe(200);
    }
  });

  it('is not made where the configuration or the stack has no page', async () => {
    const table = asked.table;
    const page = { url: 'https://page.example', newSecret: () => 's' };
    const config = (link: boolean) => async () =>
      ({ config: { approvals: { link } }, sha256: '' }) as never;
    const question = { id: 'q', deadline: start };
    expect(await linkFor({ table, config: config(false), approvalPage: page }, question)).toBe(
      undefined,
    );
    expect(await linkFor({ table, config: config(true) }, question)).toBe(undefined);
    expect(await table.query('approval-links', 'q')).toHaveLength(1);
    expect(await linkFor({ table, config: config(true), approvalPage: page }, question)).toBe(
      'https://page.example/approvals/q/s',
    );
  });
});
