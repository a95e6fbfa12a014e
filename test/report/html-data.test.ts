import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blames, causes, type Evidence } from '../../lib/gap/model.ts';
import { pageData } from '../../lib/report/html/build-data.ts';
import { MapModel, type ViewGap, type ViewUnknown } from '../../lib/report/html/client/model.ts';
import { countPairs } from '../../lib/report/html/counts.ts';
import type { HtmlInput } from '../../lib/report/html/input.ts';
import { type GapNumbers, packGap, unpackGap } from '../../lib/report/html/page-data.ts';
import { TextTable, templateOf, textOf } from '../../lib/report/html/text-table.ts';
import * as build from '../gap/build.ts';
import { factsOf, fleet, inputOf } from './html-fleet.ts';
import { hostileFacts } from './html-hostile.ts';

/** The page's data after its way through JSON, as the client gets it. */
function carried(input: HtmlInput) {
  return JSON.parse(JSON.stringify(pageData(input))) as ReturnType<typeof pageData>;
}

const inputs: [string, HtmlInput][] = [
  ['a fleet', inputOf(fleet(400, 12))],
  ['required DaemonSets only', inputOf(fleet(200, 26), false)],
  ['hostile names', inputOf(hostileFacts())],
  ['an empty cluster', inputOf(factsOf({ nodes: [], daemonSets: [], pods: [] }))],
];

describe.each(inputs)('the data of the page of %s', (_title, input) => {
  const data = carried(input);
  const model = new MapModel(data);
  const { report, detection } = input;
  const evidenceOf = (about: ViewGap | ViewUnknown, indices: readonly number[]): Evidence[] =>
    indices.map((index) => {
      const texts = (data.evidence[index] ?? []).map((text) => model.text(text, about));
      const [object = '', field = '', value = '', wouldChange] = texts;
      return { object, field, value, ...(wouldChange === undefined ? {} : { wouldChange }) };
    });

  it('holds every gap of the report, word for word', () => {
    const shown = model.gaps.map((gap) => ({
      node: model.nodes[gap.node]?.name,
      daemonSet: model.daemonSetKey(gap.daemonSet),
      cause: gap.causeName,
      blame: gap.blameName,
      actionable: gap.state === 'act',
      since: new Date(data.now - gap.age).toISOString().replace('.000Z', 'Z'),
      message: model.text(gap.message, gap),
      required: gap.required,
    }));
    const wanted = report.gaps.map(
      ({ node, daemonSet, cause, blame, actionable, since, message, required }) => {
        return { node, daemonSet, cause, blame, actionable, since, message, required };
      },
    );
    expect(shown).toEqual(wanted);
  });

  it('holds blame, evidence, other causes and pod of every gap', () => {
    const shown = model.gaps.map((gap) => ({
      blameReason: model.text(gap.blameReason, gap),
      otherCauses: gap.otherCauses.map((cause) => causes[cause]),
      pod: gap.pod,
      evidence: evidenceOf(gap, gap.evidence),
      blameEvidence: evidenceOf(gap, gap.blameEvidence),
    }));
    const wanted = report.gaps.map(
      ({ blameReason, otherCauses, evidence, blameEvidence }, index) => {
        const pod = detection.gaps[index]?.pod?.name;
        return { blameReason, otherCauses, pod, evidence, blameEvidence };
      },
    );
    expect(shown).toEqual(wanted);
  });

  it('says of every gap what would be done, or why nothing', () => {
    const shown = model.gaps.map((gap) =>
      gap.held === undefined
        ? (data.plans[gap.plan ?? -1] ?? []).map((text) => model.text(text, gap))
        : [model.text(gap.held.code, gap), model.text(gap.held.message, gap)],
    );
    const wanted = input.verdicts.map((verdict) =>
      verdict.kind === 'actionable'
        ? input.planOf(verdict).steps.flatMap(({ name, detail }) => [name, detail])
        : [verdict.code, verdict.message],
    );
    expect(shown).toEqual(wanted);
  });

  it('holds every unknown entry', () => {
    const shown = model.unknown.map((entry) => ({
      ...(entry.node < 0 ? {} : { node: model.nodes[entry.node]?.name }),
      ...(entry.daemonSet < 0 ? {} : { daemonSet: model.daemonSetKey(entry.daemonSet) }),
      reason: model.text(entry.reason, entry),
      message: model.text(entry.message, entry),
      evidence: evidenceOf(entry, entry.evidence),
    }));
    const wanted = detection.unknown.map(({ nodeUid: _uid, evidence = [], ...entry }) => {
      return { ...entry, evidence };
    });
    expect(shown).toEqual(wanted);
  });

  it('counts what the report counts', () => {
    const { all, daemonSets, groups } = countPairs(data);
    expect(all.gap).toBe(report.summary.gaps);
    expect(all.covered + all.gap + all.unknown).toBe(report.summary.eligiblePairs);
    expect(data.nodes.length - data.leftOut.length).toBe(report.summary.nodes);
    const sum = (counts: (typeof all)[]) => counts.reduce((total, { gap }) => total + gap, 0);
    expect([sum(daemonSets), sum(groups)]).toEqual([all.gap, all.gap]);
    expect(model.gaps.filter(({ state }) => state === 'act')).toHaveLength(
      report.summary.actionable,
    );
  });

  it('draws a gap just where the report has one', () => {
    const drawn = model.nodes.flatMap(({ name, cells }) =>
      [...cells].flatMap((code, index) =>
        code === 'g' ? [`${name} ${model.daemonSetKey(index)}`] : [],
      ),
    );
    const wanted = report.gaps.map(({ node, daemonSet }) => `${node} ${daemonSet}`);
    expect(drawn.sort()).toEqual(wanted.sort());
  });
});

describe('the cells', () => {
  const nodes = [
    build.node('well', { labels: { disk: 'ssd' } }),
    build.node('other'),
    build.node('silent', {
      labels: { disk: 'ssd' },
      conditions: [
        build.condition('Ready', 'True', build.day, { lastHeartbeatTime: build.past(build.hour) }),
      ],
    }),
    build.node('leaving', { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] }),
  ];
  const daemonSets = [
    build.daemonSet('agent', { template: { nodeSelector: { disk: 'ssd' } } }),
    build.daemonSet('old', { metadata: { deletionTimestamp: build.past(build.minute) } }),
  ];
  const data = carried(inputOf(factsOf({ nodes, daemonSets, pods: [build.pod('well')] })));
  const model = new MapModel(data);
  const cellsOf = (name: string) => model.nodes.find((node) => node.name === name)?.cells ?? '';
  const reasonAt = (name: string, index: number) =>
    data.reasons[cellsOf(name).charCodeAt(index) - 0x100];

  it('tell covered, unknown and left out apart', () => {
    expect([cellsOf('well')[0], cellsOf('silent')[0], cellsOf('leaving')]).toEqual([
      '.',
      'u',
      'xx',
    ]);
  });

  it('say why a DaemonSet is not meant to run there', () => {
    expect(reasonAt('other', 0)).toContain('disk');
    expect(reasonAt('well', 1)).toBe('the DaemonSet is being deleted');
  });
});

describe('the order of nodes', () => {
  it('puts the worst first in each pool and zone, and quiet pools last', () => {
    const { groups } = pageData(inputOf(fleet(400, 12)));
    const model = new MapModel(pageData(inputOf(fleet(400, 12))));
    const concerned = model.pools.map(
      (pool) =>
        pool.groups
          .flatMap(({ first, count }) => model.nodes.slice(first, first + count))
          .filter(({ gaps }) => gaps.length > 0).length,
    );
    expect(concerned).toEqual(concerned.toSorted((a, b) => b - a));
    expect(concerned[0]).toBeGreaterThan(0);
    for (const { first, count } of model.groups) {
      const ill = model.nodes.slice(first, first + count).map(({ gaps }) => gaps.length > 0);
      expect(ill).toEqual(ill.toSorted((a, b) => Number(b) - Number(a)));
    }
    expect(groups.reduce((sum, { nodes }) => sum + nodes, 0)).toBe(400);
  });
});

describe('a packed gap', () => {
  const place = fc.nat({ max: 1000 });
  const gap: fc.Arbitrary<GapNumbers> = fc
    .record({
      node: place,
      daemonSet: place,
      cause: fc.nat({ max: causes.length - 1 }),
      otherCauses: fc.array(place),
      blame: fc.nat({ max: blames.length - 1 }),
      required: fc.boolean(),
      age: fc.integer(),
      restarts: place,
      message: place,
      blameReason: place,
      action: place,
      evidence: fc.array(place),
      blameEvidence: fc.array(place),
      pod: fc.option(fc.string(), { nil: undefined }),
      held: fc.option(fc.record({ code: place, message: place }), { nil: undefined }),
      plan: place,
    })
    .map(({ pod, held, plan, ...rest }) => ({
      ...rest,
      ...(pod === undefined ? {} : { pod }),
      ...(held === undefined ? { plan } : { held }),
    }));

  it('comes out as it went in', () => {
    fc.assert(
      fc.property(gap, (each) => {
        expect(unpackGap(JSON.parse(JSON.stringify(packGap(each))))).toEqual(each);
      }),
    );
  });
});

describe('the texts', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', '-', '\uE000', '\uE001', '\uE002') });

  it('come out as they went in, whatever the names', () => {
    fc.assert(
      fc.property(name, name, fc.array(name), (node, pod, pieces) => {
        const text = pieces.join('a');
        expect(textOf(templateOf(text, { node, pod }), { node, pod })).toBe(text);
      }),
    );
  });

  it('are kept once when they differ only in names', () => {
    const table = new TextTable();
    const first = table.add('pod x-1 on n1 waits', { node: 'n1', pod: 'x-1' });
    expect(table.add('pod x-2 on n2 waits', { node: 'n2', pod: 'x-2' })).toBe(first);
    expect(table.texts).toHaveLength(1);
  });

  it('of the same gap on many nodes stay few', () => {
    const nodes = Array.from({ length: 300 }, (_, index) => build.node(`node-${index}`));
    const pods = nodes.map(({ metadata: { name } }) => build.crashing(name));
    const daemonSets = [build.daemonSet()];
    const { gaps, texts } = pageData(inputOf(factsOf({ nodes, daemonSets, pods })));
    expect(gaps).toHaveLength(300);
    expect(texts.length).toBeLessThan(40);
  });
});
