/** The approval page in whole attempts: what a person sends there lets the execution go on. */
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { makeHandler, type PageResponse } from '../../functions/approval-page.ts';
import { addUsual, minute, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const yaml = 'approvals: { policy: always, link: true }\n';

/** A node with a gap, and the link in the notice about it. */
async function asked(more = ''): Promise<{ bad: string; link: string }> {
  let secrets = 0;
  world = new World({
    yaml: yaml + more,
    approvalPage: {
      url: 'https://page.example',
      newSecret: () => createHash('sha256').update(`${++secrets}`).digest('base64url'),
    },
  });
  const [bad = ''] = addUsual(world, 6);
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  await world.asked();
  const [link] = linksSent();
  if (link === undefined) throw new Error('the notice has no link');
  return { bad, link };
}

function linksSent(): string[] {
  return world.notices
    .filter(({ kind }) => kind === 'approval')
    .flatMap(({ body }) => body.match(/https:\/\/page\.example\/\S+/g) ?? []);
}

function send(
  link: string,
  method: string,
  fields?: Record<string, string>,
): Promise<PageResponse> {
  const [id, secret] = new URL(link).pathname.split('/').slice(2);
  const page = makeHandler({
    clock: world.clock,
    config: async () => world.config,
    table: world.table,
    workflow: world.nodegap.workflow,
    log: {
      info: (message, values) => world.logs.push({ level: 'info', message, fields: values }),
      warn: (message, values) => world.logs.push({ level: 'warn', message, fields: values }),
      error: (message, values) => world.logs.push({ level: 'error', message, fields: values }),
    },
    newId: () => 'unused',
  });
  return world.clock.during(() =>
    page({
      requestContext: { http: { method, sourceIp: '203.0.113.7' } },
      pathParameters: { id, secret },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      ...(fields === undefined ? {} : { body: new URLSearchParams(fields).toString() }),
    }),
  );
}

const answer = (decision: string, node: string) => ({
  decision,
  name: 'Ann Example',
  confirm: `${decision} ${node}`,
});
const codes = () => world.outcomes.map(({ code }) => code);

describe('the link of a notice', () => {
  it('says that the mail is the credential, beside the commands of the CLI', async () => {
    const { link } = await asked();
    const notice = world.notices.find(({ kind }) => kind === 'approval');
    expect(notice?.body).toMatch(/nodegap approvals approve id-\d+/);
    expect(notice?.body).toMatch(/Whoever holds this mail can/);
    expect(notice?.subject).not.toContain('https');
    expect(link).toMatch(/^https:\/\/page\.example\/approvals\/id-\d+\/[\w-]{43}$/);
  });

  it('is opened, and nothing happens but that the facts are shown', async () => {
    const { bad, link } = await asked();
    const before = world.path.length;
    const { statusCode, body } = await send(link, 'GET');
    expect(statusCode).toBe(200);
    for (const fact of [
      bad,
      cni,
      'sandbox',
      'Would be evicted: 1 pod',
      'no answer by then is a no',
    ]) {
      expect(body).toContain(fact);
    }
    await send(link, 'HEAD');
    await send(link, 'POST', {});
    await world.pass(10);
    expect(world.path).not.toContain('DrainNode');
    expect(world.path).toHaveLength(before);
  });

  it('takes an approval: the node is judged again and replaced, and the answer is kept', async () => {
    const { bad, link } = await asked();
    expect((await send(link, 'POST', answer('approve', bad))).statusCode).toBe(200);
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
    const kept = { decision: 'approve', by: 'Ann Example', via: 'link', address: '203.0.113.7' };
    expect(world.inputOf('Report').state.answer).toMatchObject(kept);
    const report = world.notices.find(({ kind }) => kind === 'report');
    expect(report?.body).toMatch(
      /Answered approve by Ann Example on the approval page from 203.0.113.7/,
    );
    expect(world.logs).toContainEqual(
      expect.objectContaining({
        message: 'approval answered',
        fields: expect.objectContaining({ ...kept, node: bad, waited: true }),
      }),
    );
    expect((await send(link, 'POST', answer('deny', bad))).statusCode).toBe(409);
    expect((await send(link, 'GET')).body).toContain('Answered already: approve.');
  });

  it('takes a denial: the isolation is undone', async () => {
    const { bad, link } = await asked();
    await send(link, 'POST', answer('deny', bad));
    await world.pass(10);
    expect(codes()).toEqual(['denied']);
    expect(world.traces(bad)).toEqual([]);
  });

  it('takes an approval of a node that has recovered meanwhile: nothing is drained', async () => {
    const { bad, link } = await asked();
    world.cluster.clearFault({ node: bad, daemonSet: cni });
    await world.pass(1);
    expect((await send(link, 'POST', answer('approve', bad))).statusCode).toBe(200);
    await world.pass(10);
    expect(world.path).not.toContain('DrainNode');
    expect(codes()).toEqual(['recovered']);
    expect(world.traces(bad)).toEqual([]);
  });

  it('is dead when the time is over, and that was a no', async () => {
    const { bad, link } = await asked();
    await world.pass(12 * 60 + 5);
    expect((await send(link, 'POST', answer('approve', bad))).statusCode).toBe(410);
    await world.pass(60);
    expect(codes()).toEqual(['denied']);
    expect(world.path).not.toContain('DrainNode');
  });

  it('is of no use for an execution that somebody stopped', async () => {
    const { bad, link } = await asked();
    world.abort();
    await world.pass(1);
    expect((await send(link, 'POST', answer('approve', bad))).statusCode).toBe(409);
    expect(world.path).not.toContain('DrainNode');
  });

  it('is another one in a reminder, and both work until the answer', async () => {
    const { bad, link } = await asked();
    await world.until(() => linksSent().length > 1);
    const [, second = ''] = linksSent();
    expect(second).not.toBe(link);
    expect((await send(link, 'GET')).statusCode).toBe(200);
    expect((await send(second, 'POST', answer('deny', bad))).statusCode).toBe(200);
    expect((await send(link, 'POST', answer('approve', bad))).statusCode).toBe(409);
  });

  it('stands in the notice and nowhere else', async () => {
    const { bad, link } = await asked();
    await send(link, 'GET');
    await send(link, 'POST', answer('approve', bad));
    await world.pass(60);
    const secret = link.split('/').at(-1) ?? '';
    expect(secret).toHaveLength(43);
    const partitions = ['approvals', 'approval-links', 'approval-rounds', 'cluster#prod'];
    const items = await Promise.all(partitions.map((pk) => world.table.query(pk, '')));
    const everything = [world.logs, world.events, items, await world.questions(), world.counted];
    const text = JSON.stringify(everything, (_key, value) =>
      value instanceof Set ? [...value] : value,
    );
    expect(text.length).toBeGreaterThan(1000);
    expect(text).not.toContain(secret);
    const others = world.notices.filter(({ kind }) => kind !== 'approval');
    expect(JSON.stringify(others)).not.toContain(secret);
    expect(JSON.stringify(world.cluster.audit)).not.toContain(secret);
  });

  it('is not sent where the configuration asks for none', async () => {
    const page = { url: 'https://page.example', newSecret: () => 'secret' };
    world = new World({ yaml: 'approvals: { policy: always }\n', approvalPage: page });
    const [bad = ''] = addUsual(world, 6);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.asked();
    await world.clock.run(minute);
    expect(linksSent()).toEqual([]);
    expect(await world.table.query('approval-links', '')).toEqual([]);
  });
});
