import { describe, expect, it } from 'vitest';
import { conditionSubject } from '../../lib/gap/fault.ts';
import type { ConditionFault, ConditionRule, Detection, GapRecord } from '../../lib/gap/model.ts';
import { nextRecords } from '../../lib/gap/records.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import {
  condition,
  day,
  detected,
  hour,
  minute,
  node,
  now,
  past,
  policy,
  record,
  second,
} from './build.ts';

const subject = conditionSubject('KernelDeadlock');
const rule: ConditionRule = {
  type: 'KernelDeadlock',
  status: 'True',
  reasons: [],
  minimumAgeMs: 5 * minute,
  ceiling: 'replace',
};

interface Said {
  status?: string;
  reason?: string;
  message?: string;
  /** Milliseconds since the transition; none when null. */
  for?: number | null;
  /** Milliseconds since the heartbeat; none when null. */
  heard?: number | null;
  age?: number;
  ready?: string;
  /** Milliseconds since Ready changed. */
  readyFor?: number;
  zone?: string;
  absent?: boolean;
  annotations?: Record<string, string>;
}

function nodeThat(name: string, said: Said = {}): Node {
  const { age = 3 * day, heard = 20 * second, status = 'True', reason, message } = said;
  const ready = condition('Ready', said.ready ?? 'True', said.readyFor ?? age, {
    lastHeartbeatTime: past(20 * second),
  });
  const transition = said.for === undefined ? hour : said.for;
  const own = {
    type: 'KernelDeadlock',
    status,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
    ...(transition === null ? {} : { lastTransitionTime: past(transition) }),
    ...(heard === null ? {} : { lastHeartbeatTime: past(heard) }),
  };
  return node(name, {
    age,
    conditions: said.absent ? [ready] : [ready, own],
    labels: said.zone === undefined ? {} : { 'topology.kubernetes.io/zone': said.zone },
    metadata: said.annotations === undefined ? {} : { annotations: said.annotations },
  });
}

const well = (count: number, more: Said = {}) =>
  Array.from({ length: count }, (_, index) => nodeThat(`w${index}`, { status: 'False', ...more }));

function find(
  nodes: Node[],
  { rules = [rule], records }: { rules?: ConditionRule[]; records?: GapRecord[] } = {},
): Detection {
  const judging = { policy: { ...policy, conditions: rules } };
  return detected(
    { nodes, daemonSets: [], pods: [] },
    records === undefined ? judging : { ...judging, records },
  );
}

const faults = (...args: Parameters<typeof find>): ConditionFault[] =>
  find(...args).conditionFaults ?? [];
const reasons = (...args: Parameters<typeof find>): string[] =>
  find(...args).unknown.map(({ reason }) => reason);
const known = (more: Partial<GapRecord> = {}) =>
  record({ nodeUid: 'uid-n1', daemonSet: subject, firstSeen: now - 30 * minute, ...more });

describe('a configured node condition', () => {
  it('is a fault that is told in words, with its evidence', () => {
    const said = { reason: 'DockerHung', message: 'task docker:1 blocked' };
    const [fault] = faults([nodeThat('n1', said), ...well(9)]);
    expect(fault).toMatchObject({
      node: 'n1',
      cause: 'node-condition',
      condition: { type: 'KernelDeadlock', status: 'True', reason: 'DockerHung' },
      required: true,
      ceiling: 'replace',
      blame: 'node',
      blameReason: '1 of 10 nodes have condition KernelDeadlock=True, and 9 report otherwise',
      pastGrace: true,
      confirmed: true,
      since: now - hour,
      message: `condition KernelDeadlock=True (DockerHung) since ${past(hour)}: task docker:1 blocked`,
    });
    expect(fault?.evidence.map(({ field }) => field)).toEqual(
      ['status', 'reason', 'lastTransitionTime', 'lastHeartbeatTime'].map(
        (name) => `status.conditions[KernelDeadlock].${name}`,
      ),
    );
  });

  it('is none when nothing is configured, and then not even a list', () => {
    const nodes = [nodeThat('n1')];
    expect(detected({ nodes, daemonSets: [], pods: [] })).not.toHaveProperty('conditionFaults');
  });

  it('is none with another status, and nothing where the node has no such condition', () => {
    const nodes = [nodeThat('n1', { absent: true }), ...well(2)];
    expect(find(nodes)).toMatchObject({ conditionFaults: [], unknown: [] });
  });

  it('is not looked for on nodes that are left out', () => {
    const leaving = nodeThat('n1');
    leaving.metadata.deletionTimestamp = past(minute);
    expect(faults([leaving, ...well(9)])).toEqual([]);
  });

  it.each<[string, Said, boolean]>([
    ['old enough', { for: 5 * minute }, true],
    ['too young', { for: 5 * minute - second }, false],
    ['of unknown age', { for: null }, false],
    ['in the future', { for: -hour }, false],
    ['on a node in its grace', { age: 10 * minute - second, for: 6 * minute }, false],
    ['on a node past its grace', { age: 10 * minute, for: 6 * minute }, true],
  ])('%s is past its grace: %j → %s', (_name, said, pastGrace) => {
    const [fault] = faults([nodeThat('n1', said), ...well(9)]);
    expect(fault?.pastGrace).toBe(pastGrace);
  });

  it('is confirmed like a gap: in two scans and for a minute past its grace', () => {
    const nodes = [nodeThat('n1', { for: 6 * minute }), ...well(9)];
    const confirmed = (records: GapRecord[]) => faults(nodes, { records })[0]?.confirmed;
    const seen = now - 2 * minute;
    expect(confirmed([])).toBe(false);
    expect(confirmed([known({ firstSeen: seen, sightings: 1 })])).toBe(false);
    expect(confirmed([known({ firstSeen: seen, sightings: 2 })])).toBe(true);
    expect(confirmed([known({ firstSeen: now - 59 * second, sightings: 9 })])).toBe(false);
  });

  it('keeps its age when only its reason, and so its transition, is new', () => {
    const nodes = [nodeThat('n1', { reason: 'Other', for: minute }), ...well(9)];
    const [fault] = faults(nodes, { records: [known()] });
    expect(fault).toMatchObject({ since: now - 30 * minute, pastGrace: true, confirmed: true });
  });

  it('goes on when its reason has become one that is not configured', () => {
    const rules = [{ ...rule, reasons: ['DockerHung'] }];
    const nodes = [nodeThat('n1', { reason: 'PodStuckTerminating' }), ...well(9)];
    expect(faults(nodes, { rules, records: [] })).toEqual([]);
    expect(faults(nodes, { rules, records: [known()] })).toHaveLength(1);
    const healed = [known({ healthySince: now - minute })];
    expect(faults(nodes, { rules, records: healed })).toEqual([]);
  });
});

describe('a condition of a detector that may be dead', () => {
  it.each<[string, Said]>([
    ['reported 15 minutes ago', { heard: 15 * minute }],
    ['never reported', { heard: null }],
    ['reported before the node became Ready', { heard: 5 * minute, readyFor: 4 * minute }],
  ])('%s is unknown and never a fault', (_name, said) => {
    const { conditionFaults, unknown } = find([nodeThat('n1', said), ...well(9)]);
    expect(conditionFaults).toEqual([]);
    expect(unknown).toMatchObject([
      { node: 'n1', condition: 'KernelDeadlock', reason: 'condition-stale' },
    ]);
  });

  it('is believed up to then', () => {
    const said = { heard: 15 * minute - second };
    expect(faults([nodeThat('n1', said), ...well(9)])).toHaveLength(1);
  });

  it('is unknown even when its last word was that all is well', () => {
    expect(reasons(well(1, { heard: hour }))).toEqual(['condition-stale']);
    expect(reasons(well(1, { heard: null }))).toEqual([]);
  });

  it('is unknown when the report lies in the future, which would never grow old', () => {
    const ahead = (ms: number) => find([nodeThat('n1', { heard: -ms }), ...well(9)]);
    expect(ahead(hour)).toMatchObject({
      conditionFaults: [],
      unknown: [{ node: 'n1', condition: 'KernelDeadlock', reason: 'condition-stale' }],
    });
    expect(ahead(30 * second).conditionFaults).toHaveLength(1);
  });

  it('says nothing about the others: it is no witness', () => {
    const nodes = [nodeThat('n1'), ...well(9, { heard: hour })];
    expect(faults(nodes)[0]).toMatchObject({ blame: 'unclear' });
  });

  it('counts for nothing on a node that is not Ready', () => {
    const nodes = [nodeThat('n1', { ready: 'Unknown', readyFor: 5 * minute }), ...well(9)];
    expect(find(nodes, { records: [] })).toMatchObject({ conditionFaults: [], unknown: [] });
    expect(reasons(nodes, { records: [known()] })).toEqual(['condition-node-not-ready']);
  });
});

describe('the end of a fault', () => {
  it.each<[string, Said, string[]]>([
    ['a short while ago', { status: 'False', for: 30 * second }, ['condition-settling']],
    ['for the pod grace', { status: 'False', for: 5 * minute }, []],
    ['to another bad status', { status: 'Unknown', for: minute }, ['condition-settling']],
    ['with the condition itself', { absent: true }, ['condition-missing']],
    ['with its detector', { status: 'False', heard: hour }, ['condition-stale']],
  ])('%s: %j', (_name, said, expected) => {
    const nodes = [nodeThat('n1', said), ...well(9)];
    expect(reasons(nodes, { records: [known()] })).toEqual(expected);
  });

  it('C98: a detector that restarts does not close the case', () => {
    const restarted = find([nodeThat('n1', { status: 'False', for: 30 * second }), ...well(9)], {
      records: [known()],
    });
    const { keep, removed } = nextRecords([known()], restarted, now, { holdUpMs: 2 * minute });
    expect(removed).toEqual([]);
    expect(keep).toEqual([known()]);
  });

  it('closes the case when it has lasted for the pod grace, and hold-up more', () => {
    const ended = find([nodeThat('n1', { status: 'False', for: 8 * minute }), ...well(9)], {
      records: [known()],
    });
    const removedWhen = (healthySince: number) =>
      nextRecords([known({ healthySince })], ended, now, { holdUpMs: 2 * minute }).removed.length;
    expect(removedWhen(now - minute)).toBe(0);
    expect(removedWhen(now - 2 * minute)).toBe(1);
  });

  it('is the end of what the configuration no longer names', () => {
    const nodes = [nodeThat('n1'), ...well(9)];
    const { keep } = nextRecords([known()], find(nodes, { rules: [] }), now, { holdUpMs: 1 });
    expect(keep).toMatchObject([{ healthySince: now }]);
  });
});

describe('a fault of a condition', () => {
  it('is recorded under its type, whatever its status and reason', () => {
    const detection = find([nodeThat('n1', { reason: 'DockerHung' }), ...well(9)]);
    const { keep } = nextRecords([], detection, now, { holdUpMs: 1 });
    expect(keep).toMatchObject([{ nodeUid: 'uid-n1', daemonSet: subject, sightings: 1 }]);
  });

  it.each([
    ['replace', 9 * minute, 'isolate'],
    ['replace', 11 * minute, 'replace'],
    ['isolate', 9 * minute, 'isolate'],
    ['alert', 9 * minute, 'alert'],
  ] as const)(
    'with action %s that came %d ms after the node goes as far as %s',
    (ceiling, after, reach) => {
      const nodes = [nodeThat('n1', { age: day, for: day - after }), ...well(9)];
      const [fault] = faults(nodes, { rules: [{ ...rule, ceiling }] });
      expect(fault?.ceiling).toBe(reach);
      expect(fault?.loweredBecause !== undefined).toBe(reach !== ceiling);
    },
  );

  it('may be the doing of nodegap when it came after the isolation', () => {
    const annotations = {
      'nodegap.dev/isolation': JSON.stringify({
        installation: 'i',
        execution: 'e',
        episode: 1,
        attempt: 1,
        cordoned: true,
        tainted: false,
        at: past(20 * minute),
      }),
    };
    const since = (age: number, records: GapRecord[]) =>
      faults([nodeThat('n1', { for: age, annotations }), ...well(9)], { records })[0]
        ?.sinceIsolation;
    expect(since(19 * minute, [])).toBe(true);
    expect(since(21 * minute, [])).toBeUndefined();
    // It was there before, and was gone for a moment.
    expect(since(19 * minute, [known()])).toBeUndefined();
  });
});

describe('the blame for a condition', () => {
  const bad = (count: number, zone?: string) =>
    Array.from({ length: count }, (_, index) =>
      nodeThat(`b${zone ?? ''}${index}`, zone === undefined ? {} : { zone }),
    );
  const blameOf = (nodes: Node[]) => faults(nodes)[0]?.blame;

  it.each([
    [1, 1, 'node'],
    [1, 9, 'node'],
    [4, 6, 'node'],
    [5, 5, 'cluster'],
    [2, 2, 'cluster'],
    [10, 0, 'cluster'],
    [1, 0, 'unclear'],
  ])('%d nodes have it and %d report otherwise: %s', (have, not, blame) => {
    expect(blameOf([...bad(have), ...well(not)])).toBe(blame);
  });

  it('is the zone where it is concentrated there', () => {
    const nodes = [...bad(3, 'a'), ...well(3, { zone: 'a' }), ...well(6, { zone: 'b' })];
    const [fault] = faults(nodes);
    expect(fault).toMatchObject({ blame: 'zone' });
    expect(fault?.blameReason).toBe(
      '3 of 6 nodes in zone a have condition KernelDeadlock=True, and 0 of 6 nodes elsewhere',
    );
  });

  it('gives its numbers', () => {
    const [fault] = faults([...bad(5), ...well(5)]);
    expect(fault?.blameReason).toBe(
      '5 of 10 nodes have condition KernelDeadlock=True: its detector or what they share is at fault',
    );
    expect(fault?.blameEvidence).toMatchObject([{ value: '5 of 10 nodes' }]);
  });
});
