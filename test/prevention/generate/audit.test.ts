/** What the generator proposes is what the audit asks for: applied, nothing is left to say. */
import { describe, expect, test } from 'vitest';
import { auditPrevention } from '../../../lib/prevention/audit.ts';
import type { PreventionFacts } from '../../../lib/prevention/facts.ts';
import { planStartupTaints } from '../../../lib/prevention/generate/plan.ts';
import { found, nodePool, read } from '../prevention-facts.ts';
import { applyPlan } from './apply.ts';
import { clusterFacts, config, ebs, logAgent, pool } from './facts.ts';

const startupChecks = /startup-taint|attacher|remover|shut-out|priority-class/;

function findings(facts: PreventionFacts): string[] {
  return auditPrevention(facts, config())
    .findings.filter(({ check }) => startupChecks.test(check))
    .map(({ check, message }) => `${check}: ${message}`);
}

const cases: [string, PreventionFacts][] = [
  ['a NodePool with some startup taints', clusterFacts({ nodePools: read(pool) })],
  ['NodePools without any', clusterFacts({ nodePools: read(nodePool('a'), nodePool('b')) })],
  [
    'a startup taint among the permanent ones',
    clusterFacts({
      nodePools: read(
        nodePool('a', {
          taints: [{ key: 'nodegap.dev/startup-fluent-bit', effect: 'NoSchedule' }],
        }),
      ),
    }),
  ],
  [
    'an agent whose own taint shuts it out',
    clusterFacts({
      daemonSets: [ebs, logAgent].map(found),
      nodePools: read(
        nodePool('a', {
          startupTaints: [{ key: 'ebs.csi.aws.com/agent-not-ready', effect: 'NoExecute' }],
        }),
      ),
    }),
  ],
];

describe('the audit', () => {
  test.each(cases)('has something to say of %s', (_what, facts) => {
    expect(findings(facts)).not.toEqual([]);
  });

  test.each(cases)('has nothing more to say of %s once the plan is applied', (_what, facts) => {
    const known =
      facts.nodePools.kind === 'read' &&
      facts.nodePools.items.some(({ object }) =>
        object.spec.template.spec.startupTaints?.some(({ key }) => key.startsWith('example.com/')),
      );
    const left = findings(applyPlan(facts, planStartupTaints(facts, config())));
    // Who takes the foreign taint off no plan of nodegap can change.
    expect(left.filter((text) => !known || !text.includes('example.com/warming-up'))).toEqual([]);
  });
});
