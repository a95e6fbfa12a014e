import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shouldRun } from '../../lib/gap/eligibility.ts';
import type { Node, NodeSelectorTerm, PodSpec } from '../../lib/kubernetes/objects.ts';
import { daemonSet, node } from './build.ts';
import {
  malformedTermArbitrary,
  type NodeFacts,
  nodeArbitrary,
  requiring,
  taintArbitrary,
  templateArbitrary,
  termArbitrary,
  tolerationArbitrary,
} from './eligibility-arbitraries.ts';

const names = ['n1', 'n2', 'n3'];
const someName = fc.constantFrom(...names);
const someTemplate = templateArbitrary(names);
const someNode = fc.tuple(someName, nodeArbitrary).map(([name, made]) => nodeOf(name, made));

function nodeOf(name: string, { labels, taints, unschedulable }: NodeFacts): Node {
  return node(name, { labels, taints, unschedulable });
}

function verdict(onNode: Node, template: PodSpec) {
  const { run, cont } = shouldRun(onNode, daemonSet('agent', { template }));
  return { run, cont };
}

/** Checks the law for that many pairs, always the same ones. */
function holds<T extends [unknown, ...unknown[]]>(
  arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> },
  law: (...values: T) => void,
): void {
  fc.assert(fc.property(...arbitraries, law), { seed: 4, numRuns: 2_000 });
}

test('the generated pairs see every verdict', () => {
  const seen = { run: 0, keep: 0, neither: 0 };
  holds([someNode, someTemplate], (onNode, template) => {
    const { run, cont } = verdict(onNode, template);
    seen[run ? 'run' : cont ? 'keep' : 'neither'] += 1;
  });
  expect(Math.min(...Object.values(seen))).toBeGreaterThan(100);
});

test('a pod that would be made is also kept', () => {
  holds([someNode, someTemplate], (onNode, template) => {
    const { run, cont } = verdict(onNode, template);
    expect(run && !cont).toBe(false);
  });
});

test('one more toleration never takes a pod away', () => {
  holds([someNode, someTemplate, tolerationArbitrary], (onNode, template, more) => {
    const before = verdict(onNode, template);
    const tolerations = [...(template.tolerations ?? []), more];
    const after = verdict(onNode, { ...template, tolerations });
    expect({ run: before.run && !after.run, cont: before.cont && !after.cont }).toEqual({
      run: false,
      cont: false,
    });
  });
});

test('a toleration of everything leaves it to the selectors', () => {
  holds([someNode, someTemplate], (onNode, template) => {
    const everything = { ...template, tolerations: [{ operator: 'Exists' }] };
    const untainted = { ...onNode, spec: {} };
    expect(verdict(onNode, everything)).toEqual(verdict(untainted, template));
  });
});

test('one more taint never gives a node a pod', () => {
  holds([someNode, someTemplate, taintArbitrary], (onNode, template, more) => {
    const before = verdict(onNode, template);
    const taints = [...(onNode.spec.taints ?? []), more];
    const after = verdict({ ...onNode, spec: { ...onNode.spec, taints } }, template);
    expect({ run: after.run && !before.run, cont: after.cont && !before.cont }).toEqual({
      run: false,
      cont: false,
    });
  });
});

test('PreferNoSchedule taints change nothing', () => {
  holds([someNode, someTemplate], (onNode, template) => {
    const taints = (onNode.spec.taints ?? []).filter(({ effect }) => effect !== 'PreferNoSchedule');
    expect(verdict({ ...onNode, spec: { taints } }, template)).toEqual(verdict(onNode, template));
  });
});

test('the cordon flag changes nothing', () => {
  holds([someNode, someTemplate, fc.boolean()], (onNode, template, unschedulable) => {
    const other = { ...onNode, spec: { ...onNode.spec, unschedulable } };
    expect(verdict(other, template)).toEqual(verdict(onNode, template));
  });
});

test('the order of tolerations, taints, terms and their parts does not matter', () => {
  holds([someNode, someTemplate], (onNode, template) => {
    const terms =
      template.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
        ?.nodeSelectorTerms;
    const reversed = terms?.toReversed().map(({ matchExpressions, matchFields }) => ({
      matchExpressions: matchExpressions?.toReversed() ?? [],
      matchFields: matchFields?.toReversed() ?? [],
    }));
    const otherTemplate = {
      ...template,
      tolerations: template.tolerations?.toReversed() ?? [],
      ...(reversed === undefined ? {} : requiring(reversed)),
    };
    const taints = onNode.spec.taints?.toReversed() ?? [];
    const otherNode = { ...onNode, spec: { ...onNode.spec, taints } };
    expect(verdict(otherNode, otherTemplate)).toEqual(verdict(onNode, template));
  });
});

test('terms are alternatives: together they match where one of them does', () => {
  const terms = fc.array(termArbitrary(names), { minLength: 1, maxLength: 4 });
  holds([someNode, terms], (onNode, all) => {
    const untainted = { ...onNode, spec: {} };
    const alone = all.some((term) => verdict(untainted, requiring([term])).run);
    expect(verdict(untainted, requiring(all)).run).toBe(alone);
  });
});

test('an empty or malformed term matches nothing, and spoils no other term', () => {
  const empty = fc.constantFrom<NodeSelectorTerm>(
    {},
    { matchExpressions: [] },
    { matchFields: [] },
  );
  const useless = fc.oneof(
    { weight: 9, arbitrary: malformedTermArbitrary(names) },
    { weight: 1, arbitrary: empty },
  );
  const terms = fc.array(termArbitrary(names), { maxLength: 3 });
  holds([someNode, terms, useless], (onNode, good, bad) => {
    expect(verdict(onNode, requiring([bad]))).toEqual({ run: false, cont: false });
    const without = verdict(onNode, requiring(good));
    expect(verdict(onNode, requiring([bad, ...good]))).toEqual(without);
    expect(verdict(onNode, requiring([...good, bad]))).toEqual(without);
  });
});

test('a template bound to a node never runs on another', () => {
  holds([someNode, someTemplate, someName], (onNode, template, nodeName) => {
    const { run, cont } = verdict(onNode, { ...template, nodeName });
    expect((run || cont) && nodeName !== onNode.metadata.name).toBe(false);
  });
});
