import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Node, Taint } from '../../lib/kubernetes/objects.ts';
import {
  humanUncordoned,
  type IsolationMark,
  planIsolation,
  planRelease,
  planTaint,
  readMark,
} from '../../lib/safety/ownership.ts';
import {
  foreignMark,
  installation,
  mark,
  markAnnotation,
  markFields,
  node,
} from '../remediation/builders.ts';
import { FakeCluster } from '../remediation/fake-cluster.ts';

const own: Taint = { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' };
const lifecycle: Taint = {
  key: 'node.kubernetes.io/unschedulable',
  effect: 'NoSchedule',
  timeAdded: '2026-11-29T11:55:00Z',
};
const team: Taint = { key: 'team', value: 'shop', effect: 'NoExecute' };

/** The node as the API server has it after the plan's patch. */
async function applied(
  before: Node,
  plan: ReturnType<typeof planIsolation> | ReturnType<typeof planRelease>,
): Promise<Node> {
  if (plan.kind !== 'patch') throw new Error(`the plan is ${plan.kind}`);
  const cluster = new FakeCluster();
  cluster.nodes = [structuredClone(before)];
  return cluster.patchNode(before.metadata.name, plan.patch);
}

function marked(parts: Parameters<typeof node>[0], value: IsolationMark): Node {
  return node({ unschedulable: true, ...parts, annotations: markAnnotation(value) });
}

describe('readMark', () => {
  it('finds none on a node without the annotation', () => {
    expect(readMark(node({ annotations: { other: '1' } }), installation)).toEqual({ kind: 'none' });
  });

  it('tells our mark from that of another installation', () => {
    expect(readMark(marked({}, mark), installation)).toEqual({ kind: 'ours', mark });
    expect(readMark(marked({}, foreignMark), installation)).toEqual({
      kind: 'foreign',
      mark: foreignMark,
    });
  });

  it.each(['', '{', 'true', '{"installation":"x"}', JSON.stringify({ ...mark, cordoned: 'yes' })])(
    'calls %j unreadable instead of absent',
    (raw) => {
      const marredNode = node({ annotations: { 'nodegap.dev/isolation': raw } });
      expect(readMark(marredNode, installation)).toEqual({ kind: 'unreadable', raw });
    },
  );

  it('reads a mark with fields of a later version', () => {
    const later = { ...mark, evidence: 's3' };
    const read = readMark(marked({}, later as IsolationMark), installation);
    expect(read).toEqual({ kind: 'ours', mark });
  });
});

describe('planIsolation', () => {
  it('cordons and marks in one patch that is fenced to uid and resourceVersion', () => {
    const plan = planIsolation(node(), { mark: markFields, taint: false });
    expect(plan).toEqual({
      kind: 'patch',
      mark: { ...markFields, cordoned: true, tainted: false },
      patch: [
        { op: 'test', path: '/metadata/uid', value: 'uid-n1' },
        { op: 'replace', path: '/metadata/resourceVersion', value: '7' },
        { op: 'add', path: '/spec/unschedulable', value: true },
        {
          op: 'add',
          path: '/metadata/annotations',
          value: {
            'nodegap.dev/isolation': JSON.stringify({
              ...markFields,
              cordoned: true,
              tainted: false,
            }),
          },
        },
      ],
    });
  });

  it('touches only spec.unschedulable, its own taint and its own annotation', async () => {
    const before = node({ taints: [team], annotations: { other: '1' }, labels: { a: 'b' } });
    const after = await applied(before, planIsolation(before, { mark: markFields, taint: true }));
    const wanted = structuredClone(before);
    wanted.spec.unschedulable = true;
    wanted.spec.taints = [team, own];
    wanted.metadata.annotations = {
      other: '1',
      ...markAnnotation({ ...markFields, cordoned: true, tainted: true }),
    };
    wanted.metadata.resourceVersion = after.metadata.resourceVersion ?? '';
    expect(after).toEqual(wanted);
  });

  it('W01: adds the taint where there are no taints', async () => {
    const after = await applied(node(), planIsolation(node(), { mark: markFields, taint: true }));
    expect(after.spec.taints).toEqual([own]);
  });

  it('W04: makes no second entry of key and effect, and replaces its value in place', async () => {
    const before = node({ taints: [team, { ...own, value: 'true' }, lifecycle] });
    const after = await applied(before, planIsolation(before, { mark: markFields, taint: true }));
    expect(after.spec.taints).toEqual([team, own, lifecycle]);
  });

  it('leaves a taint of the same key with another effect alone', async () => {
    const other: Taint = { ...own, effect: 'PreferNoSchedule' };
    const before = node({ taints: [other] });
    const after = await applied(before, planIsolation(before, { mark: markFields, taint: true }));
    expect(after.spec.taints).toEqual([other, own]);
  });

  it('C49: records that someone else had cordoned the node', () => {
    const before = node({ unschedulable: true });
    const plan = planIsolation(before, { mark: markFields, taint: false });
    expect(plan).toMatchObject({ kind: 'patch', mark: { cordoned: false } });
    expect(plan.kind === 'patch' && plan.patch.map(({ path }) => path)).not.toContain(
      '/spec/unschedulable',
    );
  });

  it('has nothing to do the second time', async () => {
    const options = { mark: markFields, taint: true };
    const once = await applied(node(), planIsolation(node(), options));
    const later = { ...options, mark: { ...markFields, at: '2026-11-29T11:45:00Z' } };
    expect(planIsolation(once, later)).toEqual({
      kind: 'nothing',
      mark: { ...markFields, cordoned: true, tainted: true },
    });
  });

  it.each([
    { earlier: { ...mark, tainted: true }, wanted: { cordoned: true, tainted: true } },
    { earlier: { ...mark, cordoned: false }, wanted: { cordoned: false, tainted: false } },
  ])('keeps what an earlier attempt did: $wanted', async ({ earlier, wanted }) => {
    const next = { ...markFields, attempt: 2, execution: 'second', at: '2026-11-30T12:00:00Z' };
    const before = marked({ taints: earlier.tainted ? [own] : [] }, earlier);
    const plan = planIsolation(before, { mark: next, taint: false });
    expect(plan).toMatchObject({ kind: 'patch', mark: { ...next, ...wanted } });
    expect(readMark(await applied(before, plan), installation)).toEqual({
      kind: 'ours',
      mark: { ...next, ...wanted },
    });
  });

  it.each([
    ['foreign-mark', marked({}, foreignMark)],
    ['unreadable-mark', node({ annotations: { 'nodegap.dev/isolation': '{' } })],
    ['human-uncordoned', marked({ unschedulable: false }, mark)],
    ['other-execution', marked({}, { ...mark, attempt: 2, execution: 'second' })],
    ['other-execution', marked({}, { ...mark, episode: 2, execution: 'second' })],
  ])('refuses with %s', (code, before) => {
    const plan = planIsolation(before, { mark: markFields, taint: true });
    expect(plan).toMatchObject({ kind: 'refused', refusal: { code } });
  });

  it('throws for a node read without a resourceVersion', () => {
    const projected = node();
    delete projected.metadata.resourceVersion;
    expect(() => planIsolation(projected, { mark: markFields, taint: false })).toThrow(
      expect.objectContaining({ code: 'NodeWithoutVersion' }),
    );
  });
});

describe('planTaint', () => {
  it('adds the taint and says so in the mark', async () => {
    const before = marked({ taints: [lifecycle] }, mark);
    const after = await applied(before, planTaint(before, markFields));
    expect(after.spec.taints).toEqual([lifecycle, own]);
    expect(readMark(after, installation)).toEqual({
      kind: 'ours',
      mark: { ...mark, tainted: true },
    });
  });

  it('has nothing to do the second time', () => {
    const before = marked({ taints: [own] }, { ...mark, tainted: true });
    expect(planTaint(before, markFields).kind).toBe('nothing');
  });

  it('puts a taint back that somebody overwrote', async () => {
    const before = marked({ taints: [team] }, { ...mark, tainted: true });
    const after = await applied(before, planTaint(before, markFields));
    expect(after.spec.taints).toEqual([team, own]);
  });

  it.each([
    ['mark-missing', node({ unschedulable: true })],
    ['foreign-mark', marked({}, foreignMark)],
    ['unreadable-mark', node({ annotations: { 'nodegap.dev/isolation': '[]' } })],
    ['human-uncordoned', marked({ unschedulable: false }, mark)],
    ['other-execution', marked({}, { ...mark, execution: 'second' })],
  ])('refuses with %s', (code, before) => {
    expect(planTaint(before, markFields)).toMatchObject({ kind: 'refused', refusal: { code } });
  });
});

describe('planRelease', () => {
  it('C49, W06: takes the taint off and leaves a foreign cordon', async () => {
    const before = marked({ taints: [own] }, { ...mark, cordoned: false, tainted: true });
    const plan = planRelease(before, installation);
    expect(plan).toMatchObject({ kind: 'patch', uncordons: false, untaints: true });
    const after = await applied(before, plan);
    expect(after.spec).toEqual({ providerID: before.spec.providerID, unschedulable: true });
    expect(after.metadata.annotations).toEqual({});
  });

  it('C49: takes its own cordon off', async () => {
    const before = marked({}, mark);
    const plan = planRelease(before, installation);
    expect(plan).toMatchObject({ kind: 'patch', uncordons: true, untaints: false });
    expect((await applied(before, plan)).spec).toEqual({ providerID: before.spec.providerID });
  });

  it('W07: keeps the other taints as they are, unknown fields too', async () => {
    const odd = { ...lifecycle, futureField: { a: [1] } } as Taint;
    const before = marked({ taints: [team, own, odd] }, { ...mark, tainted: true });
    const after = await applied(before, planRelease(before, installation));
    expect(JSON.stringify(after.spec.taints)).toBe(JSON.stringify([team, odd]));
  });

  it('only takes the mark off when a person uncordoned the node', async () => {
    const before = marked({ unschedulable: false }, mark);
    const plan = planRelease(before, installation);
    expect(plan).toMatchObject({ kind: 'patch', uncordons: false });
    expect((await applied(before, plan)).spec.unschedulable).toBe(false);
  });

  it('C51: takes off a taint that no mark answers for, and no cordon', async () => {
    const before = node({ unschedulable: true, taints: [own] });
    const after = await applied(before, planRelease(before, installation));
    expect(after.spec).toEqual({ providerID: before.spec.providerID, unschedulable: true });
  });

  it('has nothing to do on a node that is not isolated by nodegap', () => {
    const before = node({ unschedulable: true, taints: [team] });
    expect(planRelease(before, installation)).toEqual({ kind: 'nothing' });
  });

  it.each([
    ['foreign-mark', marked({ taints: [own] }, foreignMark)],
    ['unreadable-mark', node({ taints: [own], annotations: { 'nodegap.dev/isolation': '' } })],
  ])('refuses with %s', (code, before) => {
    expect(planRelease(before, installation)).toMatchObject({ kind: 'refused', refusal: { code } });
  });

  it('leaves a newer attempt alone when it speaks for one execution', () => {
    const before = marked({}, { ...mark, attempt: 2, execution: 'second' });
    expect(planRelease(before, installation, markFields.execution)).toMatchObject({
      kind: 'refused',
      refusal: { code: 'other-execution' },
    });
    expect(planRelease(before, installation, 'second').kind).toBe('patch');
  });
});

describe('humanUncordoned', () => {
  it.each([
    { unschedulable: true, wanted: false },
    { unschedulable: false, wanted: true },
    { unschedulable: undefined, wanted: true },
  ])('is $wanted for unschedulable=$unschedulable', ({ unschedulable, wanted }) => {
    const subject = node(unschedulable === undefined ? {} : { unschedulable });
    expect(humanUncordoned(subject)).toBe(wanted);
  });

  it.each(['isolating', 'tainting'])('keeps from %s when the cordon was not ours', (doing) => {
    const ours = { ...mark, cordoned: false };
    const subject = node({ annotations: markAnnotation(ours) });
    const plan =
      doing === 'isolating'
        ? planIsolation(subject, { mark: markFields, taint: true })
        : planTaint(subject, markFields);
    expect(plan).toMatchObject({
      kind: 'refused',
      refusal: {
        code: 'human-uncordoned',
        message: `cordoned by someone and isolated by nodegap at ${mark.at}, and uncordoned by someone since`,
      },
    });
  });
});

describe('isolating and releasing', () => {
  const taint = fc.record(
    {
      key: fc.constantFrom('a', 'b', 'nodegap.dev/startup-cni', 'node.kubernetes.io/unschedulable'),
      effect: fc.constantFrom('NoSchedule', 'NoExecute', 'PreferNoSchedule'),
      value: fc.constantFrom('', 'x'),
      timeAdded: fc.constant('2026-11-29T11:55:00Z'),
    },
    { requiredKeys: ['key', 'effect'] },
  );

  it('give back the node as it was', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(taint, { selector: ({ key, effect }) => `${key}:${effect}`, maxLength: 5 }),
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        async (taints, wasCordoned, atOnce, later) => {
          const before = node({
            annotations: { other: '1' },
            ...(wasCordoned ? { unschedulable: true } : {}),
            ...(taints.length > 0 ? { taints: taints as Taint[] } : {}),
          });
          let state = await applied(
            before,
            planIsolation(before, { mark: markFields, taint: atOnce }),
          );
          if (later && !atOnce) state = await applied(state, planTaint(state, markFields));
          const after = await applied(state, planRelease(state, installation));
          const { resourceVersion } = after.metadata;
          expect(after).toEqual({ ...before, metadata: { ...before.metadata, resourceVersion } });
        },
      ),
    );
  });
});
