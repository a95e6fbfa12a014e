import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../local/demo/events.ts';
import { ShowKeeper } from '../../local/demo/show.ts';
import { Teller } from '../../local/demo/timeline.ts';

const noon = Date.parse('2026-11-29T12:00:00Z');
const fqdn = 'ip-10-0-3-26.eu-west-1.compute.internal';
const input = { cluster: 'shop', node: fqdn, nodeUid: 'uid', episode: 1, attempt: 1 };
const of = { execution: 'arn:one', input };

function tell(...bodies: EventBody[]): string[] {
  const teller = new Teller();
  return bodies.flatMap((body) =>
    teller.tell({ at: noon, letter: 'A', ...body }).map(({ text }) => text),
  );
}

function scanned(gaps: number, actionable = 0): EventBody {
  const result = { cluster: 'shop', nodes: 30, gaps, actionable, unknown: 0, attempts: 0 };
  return { kind: 'scanned', result };
}

function answered(state: string, code: string, message: string): EventBody {
  return { kind: 'answered', ...of, state, code, message };
}

function evicted(status: number, pod = 'shop/pods/checkout-1'): EventBody {
  const path = `/api/v1/namespaces/${pod}/eviction`;
  return { kind: 'wrote', entry: { at: '', method: 'POST', path, status, body: undefined } };
}

function nodeHappened(kind: 'node-added' | 'node-ready' | 'node-removed' | 'node-cordoned') {
  const happening = { at: noon, kind, node: fqdn, pool: 'compute', zone: undefined };
  return { kind: 'happened', happening } satisfies EventBody;
}

describe('the timeline', () => {
  it('tells what a scan finds when it differs from the one before', () => {
    const bodies = [scanned(0), scanned(1), scanned(1), scanned(2, 1), scanned(0), scanned(0)];
    expect(tell(...bodies)).toEqual([
      'scan: 1 gap, none to act on now',
      'scan: 2 gaps, 1 to act on now',
      'scan: no gaps',
    ]);
  });

  it('tells an answer of a loop only when its code changes', () => {
    expect(
      tell(
        answered('CheckRecovery', 'hold-down', 'crashes'),
        answered('CheckRecovery', 'hold-down', 'crashes'),
        answered('CheckRecovery', 'hold-up', 'healthy'),
        answered('ReleaseNode', 'released', `uncordoned ${fqdn}`),
        answered('ReleaseSlot', 'slot-released', 'the slot is released'),
      ),
    ).toEqual([
      'ip-10-0-3-26 CheckRecovery (hold-down): crashes',
      'ip-10-0-3-26 CheckRecovery (hold-up): healthy',
      'ip-10-0-3-26 ReleaseNode: uncordoned ip-10-0-3-26',
    ]);
  });

  it('tells the first refusal by a budget, and how many there were at the end', () => {
    expect(tell(evicted(429), evicted(429), evicted(201))).toEqual([
      'shop/checkout-1 stays: its budget allows no eviction now',
      'shop/checkout-1 is evicted, after 2 refusals by its budget',
    ]);
    expect(tell(evicted(201))).toEqual(['shop/checkout-1 is evicted']);
  });

  it('leaves it to RestartDaemonPod to tell the eviction of a system pod', () => {
    expect(tell(evicted(201, 'kube-system/pods/aws-node-1'))).toEqual([]);
  });

  it('tells of nodes that join and go, and not what nodegap itself says already', () => {
    expect(
      tell(nodeHappened('node-ready'), nodeHappened('node-cordoned'), nodeHappened('node-added')),
    ).toEqual(['ip-10-0-3-26 joins pool compute']);
    expect(
      tell(nodeHappened('node-added'), nodeHappened('node-ready'), nodeHappened('node-removed')),
    ).toEqual(['ip-10-0-3-26 joins pool compute', 'ip-10-0-3-26 is Ready', 'ip-10-0-3-26 is gone']);
  });

  it('tells what people are told, in the words of the first line', () => {
    const of = {
      cluster: 'shop',
      subject: 'nodegap: shop',
      severity: 'info',
      thread: 't',
    } as const;
    const notice = (kind: 'alert' | 'breaker' | 'report', body: string) =>
      ({ kind: 'notified', notice: { kind, ...of, body } }) satisfies EventBody;
    expect(
      tell(
        notice('alert', 'kube-proxy has no pod on 3 nodes.'),
        notice('breaker', 'nodegap has stopped new work: 3 of 10.\n\nWhat happened\n  more'),
        notice('report', 'Node n1 is well again.'),
      ),
    ).toEqual([
      'people are told: kube-proxy has no pod on 3 nodes',
      'people are told: nodegap has stopped new work: 3 of 10',
    ]);
  });

  it('tells of failures', () => {
    expect(
      tell(
        { kind: 'failed', message: 'DrainNode failed: boom' },
        { kind: 'ended', ...of, status: 'FAILED' },
        { kind: 'ended', ...of, status: 'SUCCEEDED' },
      ),
    ).toEqual(['DrainNode failed: boom', 'ip-10-0-3-26: the execution FAILED']);
  });
});

describe('the show', () => {
  const keep = (...bodies: [number, EventBody][]) => {
    const keeper = new ShowKeeper(noon, [{ letter: 'A', name: 'shop', title: '' }]);
    for (const [at, body] of bodies) keeper.take({ at: noon + at, letter: 'A', ...body });
    return keeper.show;
  };
  const entered = (state: string): EventBody => ({ kind: 'entered', ...of, state, type: 'Task' });

  it('takes the two halves of a loop for one station, entered once', () => {
    const { executions } = keep(
      [1, entered('ConfirmGap')],
      [2, entered('AfterConfirmGap')],
      [3, entered('WaitForRecovery')],
      [4, entered('CheckRecovery')],
      [5, answered('CheckRecovery', 'hold-down', 'crashes')],
      [6, entered('WaitForRecovery')],
    );
    expect(executions).toHaveLength(1);
    expect(executions[0]).toMatchObject({
      station: 'WaitForRecovery',
      since: noon + 3,
      code: 'hold-down',
      message: 'crashes',
      startedAt: noon + 1,
    });
    expect([...(executions[0]?.passed ?? [])]).toEqual(['ConfirmGap', 'WaitForRecovery']);
  });

  it.each([
    [answered('Report', 'recovered', ''), { code: 'recovered', good: true }],
    [answered('Report', 'drain-blocked', ''), { code: 'drain-blocked', good: false }],
    [
      { kind: 'ended', ...of, status: 'ABORTED' } satisfies EventBody,
      { code: 'ABORTED', good: false },
    ],
  ])('knows how an execution ended (%#)', (body, ended) => {
    expect(keep([1, entered('ConfirmGap')], [2, body]).executions[0]?.ended).toMatchObject(ended);
  });

  it('counts gaps, writes and notices', () => {
    const { clusters } = keep([1, scanned(3, 1)], [2, evicted(429)], [3, evicted(201)]);
    expect(clusters[0]).toMatchObject({ gaps: 3, actionable: 1, writes: 2, notices: 0 });
  });
});
