/** Applies patches of the generator to facts, as the API server would: maps merge, lists are replaced. */
import type { PreventionFacts } from '../../../lib/prevention/facts.ts';
import type { ObjectPatch } from '../../../lib/prevention/generate/patch.ts';
import type { StartupPlan } from '../../../lib/prevention/generate/plan.ts';
import { found } from '../prevention-facts.ts';

export function applyPlan(facts: PreventionFacts, plan: StartupPlan): PreventionFacts {
  return [...plan.tolerations, ...plan.attachers].reduce(applyPatch, facts);
}

function applyPatch(facts: PreventionFacts, patch: ObjectPatch): PreventionFacts {
  const isIt = ({ metadata }: { metadata: { name: string; namespace?: string } }) =>
    metadata.name === patch.name && metadata.namespace === patch.namespace;
  const apply = <T extends { metadata: { name: string; namespace?: string } }>(
    items: readonly { object: T }[],
  ) =>
    items.map(({ object }) => found(isIt(object) ? merged(object, { spec: patch.spec }) : object));
  switch (patch.kind) {
    case 'DaemonSet':
      return { ...facts, daemonSets: apply(facts.daemonSets) };
    case 'NodePool': {
      if (facts.nodePools.kind !== 'read') throw new Error('there are no NodePools');
      return { ...facts, nodePools: { kind: 'read', items: apply(facts.nodePools.items) } };
    }
    case 'Deployment': {
      if (facts.workloads.kind !== 'read') throw new Error('there are no workloads');
      const tolerations = Object(patch.spec).template.spec.tolerations;
      const items = facts.workloads.items.map(({ object }) =>
        found(isIt(object) ? { ...object, tolerations } : object),
      );
      return { ...facts, workloads: { kind: 'read', items } };
    }
  }
}

/** RFC 7386, which strategic merge is for all lists without a merge key. */
function merged<T>(target: T, patch: object): T {
  const result: Record<string, unknown> = Object.assign({}, target);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else if (typeof value === 'object' && !Array.isArray(value))
      result[key] = merged(Object(result[key] ?? {}), value);
    else result[key] = value;
  }
  return Object(result);
}
