import { beforeEach, describe, expect, it } from 'vitest';
import { makeHandler } from '../../functions/report.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { NodegapError } from '../../lib/errors.ts';
import type { ClusterReader, ClusterWriter, NodeEvent, Notice } from '../../lib/ports.ts';
import { DrainStore } from '../../lib/remediation/drain-store.ts';
import { FaultStore } from '../../lib/remediation/fault-store.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import { MemoryTable } from '../../local/memory-table.ts';

const t0 = Date.parse('2026-11-29T12:00:00Z');
const minute = 60_000;
const target = { cluster: 'prod', node: 'n1', nodeUid: 'uid-1' };
const attempt = { ...target, episode: 1, attempt: 1 };
const execution = 'arn:aws:states:eu-west-1:111122223333:execution:nodegap:prod-x-e1-a';

let table: MemoryTable;
let episodes: Episodes;
let notices: Notice[];
let events: NodeEvent[];
let counted: Record<string, string>[];
let mode: 'act' | 'observe';
let topicIsDown: boolean;
let eventsAreDenied: boolean;
const clock = { now: () => t0 };

beforeEach(async () => {
  table = new MemoryTable();
  episodes = new Episodes(table, clock);
  notices = [];
  events = [];
  counted = [];
  mode = 'act';
  topicIsDown = false;
  eventsAreDenied = false;
  await episodes.take(target);
});

function report(state: Partial<WorkflowState>) {
  const client = {
    createNodeEvent: async (event: NodeEvent) => {
      if (eventsAreDenied) throw new NodegapError('Kubernetes.forbidden', 'no');
      events.push(event);
    },
  } as unknown as ClusterReader & ClusterWriter;
  const handler = makeHandler({
    clock,
    table,
    config: async () =>
      loadConfig(
        `clusters:\n  - { name: prod, region: eu-west-1, mode: ${mode} }\n`,
        'nodegap.yaml',
      ),
    clients: { connect: async () => client },
    notifier: {
      notify: async (notice) => {
        if (topicIsDown) throw new NodegapError('Notice.Unavailable', 'away');
        notices.push(notice);
      },
    },
    metrics: { count: (name, _value, dimensions) => void counted.push({ name, ...dimensions }) },
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
  });
  const whole = { ...attempt, ...state };
  return handler({ state: whole, execution: `${execution}${whole.attempt}` });
}

const confirm = (code: string, overrides: Partial<WorkflowState['confirm']> = {}) => ({
  next: 'report' as const,
  code,
  message: `${code} it is`,
  daemonSets: '',
  cause: '',
  blame: '',
  since: 0,
  isolated: false,
  configSha: 'sha',
  ...overrides,
});
const verified = {
  next: 'verified' as const,
  code: 'replaced',
  message: 'n2 took its place',
  polls: 3,
  waitSeconds: 30,
  quietSince: 0,
  newNode: 'n2',
};
const denied: Partial<WorkflowState> = {
  confirm: confirm('gap-confirmed', {
    daemonSets: 'kube-system/cni',
    cause: 'sandbox',
    blame: 'node',
  }),
  answer: { decision: 'deny', by: 'ann' },
  release: { code: 'released', message: 'uncordoned' },
};

describe('Report', () => {
  it('keeps the outcome and when the next attempt may start', async () => {
    await report(denied);
    expect(await episodes.get('prod', 'uid-1')).toMatchObject({
      state: 'open',
      attemptState: 'ended',
      outcome: { code: 'denied', nextAttemptAt: t0 + 24 * 60 * minute },
    });
  });

  it('tells people how it ended, for what gap, what follows and where to look', async () => {
    await report(denied);
    expect(notices).toEqual([
      {
        kind: 'report',
        cluster: 'prod',
        node: 'n1',
        episode: 1,
        severity: 'info',
        thread: 'prod/node/uid-1/episode/1',
        subject: 'nodegap: node n1 in prod, episode 1',
        body: [
          'Node n1 in cluster prod is back in service unrepaired although kube-system/cni gets no pod sandbox (network) on it: ann said deny.',
          '',
          'What happened',
          '  Ann said deny.',
          '  Gap: kube-system/cni (sandbox, blame node).',
          '',
          'What is next',
          '  nodegap may begin again at 2026-11-30 12:00 UTC, if there is still a fault.',
          '',
          'What to do',
          '  Nothing, unless the fault troubles you: nodegap request n1 --cluster prod',
          '  See why: nodegap explain n1 kube-system/cni',
          '',
          'Links',
          `  Execution: https://eu-west-1.console.aws.amazon.com/states/home?region=eu-west-1#/v2/executions/details/${execution}1`,
          '',
          'Ids',
          ...['code: denied', 'cluster: prod', 'node: n1', 'nodeUid: uid-1'].map((id) => `  ${id}`),
          ...['episode: 1', 'attempt: 1', `execution: ${execution}1`].map((id) => `  ${id}`),
        ].join('\n'),
      },
    ]);
  });

  it('writes it on the node, and counts it', async () => {
    await report(denied);
    expect(events).toEqual([
      {
        node: 'n1',
        nodeUid: 'uid-1',
        type: 'Normal',
        reason: 'NodegapDenied',
        message: 'ann said deny (episode 1, attempt 1)',
        series: 'episode 1',
      },
    ]);
    expect(counted).toEqual([{ name: 'Outcome', cluster: 'prod', code: 'denied' }]);
  });

  it('alerts, and warns on the node, when the node stays isolated', async () => {
    await report({ confirm: confirm('heartbeat-stale', { isolated: true }) });
    expect(notices).toMatchObject([{ kind: 'alert' }]);
    expect(notices[0]?.body).toContain('takes no new pods and waits for a person');
    expect(events).toMatchObject([{ type: 'Warning', reason: 'NodegapHeartbeatStale' }]);
  });

  it('tells nobody of a deferral, but writes and counts it', async () => {
    await report({ confirm: confirm('young') });
    expect(notices).toEqual([]);
    expect(events).toHaveLength(1);
    expect(counted).toHaveLength(1);
  });

  it('closes the episode after a replacement, and says so; there is no node to write on', async () => {
    await report({ verification: verified });
    expect(await episodes.get('prod', 'uid-1')).toMatchObject({ state: 'closed' });
    expect(notices[0]?.body).toContain('the episode is closed.');
    expect(events).toEqual([]);
  });

  it('writes nothing in the cluster in mode observe', async () => {
    mode = 'observe';
    await report({ confirm: confirm('mode-observe') });
    expect(events).toEqual([]);
    expect(notices).toHaveLength(1);
  });

  it('passes the failure on, so that the execution fails with its code', async () => {
    const failure = { Error: 'Kubernetes.forbidden', Cause: 'may not patch\nstack' };
    const answer = await report({ failure });
    expect(answer).toMatchObject({
      next: 'failed',
      code: 'failed',
      message: 'Kubernetes.forbidden: may not patch',
    });
  });

  it('run twice tells once (safety rule 8)', async () => {
    const first = await report(denied);
    expect(await report(denied)).toEqual(first);
    expect([notices, events, counted].map(({ length }) => length)).toEqual([1, 1, 1]);
  });

  it('tells it after all when the topic was away at first', async () => {
    topicIsDown = true;
    await expect(report(denied)).rejects.toMatchObject({ code: 'Notice.Unavailable' });
    topicIsDown = false;
    await report(denied);
    expect(notices).toHaveLength(1);
    expect(await episodes.attempts('prod', 'uid-1')).toHaveLength(1);
  });

  it('is not stopped by an Event that cannot be written', async () => {
    eventsAreDenied = true;
    await report(denied);
    expect(notices).toHaveLength(1);
    expect(counted.map(({ name }) => name)).toEqual(['NodeEventFailed', 'Outcome']);
  });

  it('tells the same "no" once an episode, while it leaves the node alone', async () => {
    const paused = { confirm: confirm('paused') };
    await report(paused);
    for (let next = 2; next <= 3; next++) {
      await episodes.take(target, { byPerson: true });
      await report({ ...paused, attempt: next });
    }
    expect(notices).toHaveLength(1);
    expect(counted).toHaveLength(3);
    await episodes.take(target, { byPerson: true });
    await report({ confirm: confirm('mode-observe'), attempt: 4 });
    expect(notices).toHaveLength(2);
  });

  describe('of an execution whose attempt is over', () => {
    beforeEach(async () => {
      await report(denied);
      await episodes.take(target, { byPerson: true });
      await new DrainStore(table, clock).save('prod', 'uid-1', { blockers: [], owners: ['rs'] });
      await new FaultStore(table).save(
        'prod',
        'uid-1',
        { daemonSets: ['a/b'], cause: 'sandbox' },
        t0,
      );
    });

    it('changes and tells nothing of the one that runs', async () => {
      await report({ verification: verified });
      expect(notices).toHaveLength(1);
      expect(await episodes.get('prod', 'uid-1')).toMatchObject({
        state: 'open',
        attempt: 2,
        attemptState: 'running',
      });
      expect(await new DrainStore(table, clock).load('prod', 'uid-1')).toMatchObject({
        owners: ['rs'],
      });
      expect(await new FaultStore(table).load('prod', 'uid-1')).toBeDefined();
    });
  });

  it('remembers what a node is isolated for, until it is not', async () => {
    const faults = new FaultStore(table);
    await faults.save('prod', 'uid-1', { daemonSets: ['a/b'], cause: 'sandbox' }, t0);
    await report({ confirm: confirm('heartbeat-stale', { isolated: true }) });
    expect(await faults.load('prod', 'uid-1')).toEqual({ daemonSets: ['a/b'], cause: 'sandbox' });
    await episodes.take(target, { byPerson: true });
    await report({ ...denied, attempt: 2 });
    expect(await faults.load('prod', 'uid-1')).toBeUndefined();
  });
});
