import { afterAll, beforeAll, expect, test } from 'vitest';
import { shouldRun } from '../../lib/gap/eligibility.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import {
  createDaemonSets,
  differentialFlags,
  generateNodes,
  generateTemplates,
  prepare,
  settle,
  writeNodes,
} from './support/differential.ts';
import { type Comparison, compare } from './support/differential-comparison.ts';

// Another seed: NODEGAP_SEED=7 npm run test:e2e -- differential
const seed = Number(process.env.NODEGAP_SEED ?? 20261130);
const rounds = generateNodes(seed, 60, 3);
const firstRound = rounds[0] ?? new Map();
const names = [...firstRound.keys()];
const templates = generateTemplates(seed, 120, names);

let cluster: ControlPlane;
let refused: string[];
/** Where pods were after the round before. */
let before: ReadonlySet<string> = new Set();

beforeAll(async () => {
  cluster = await startControlPlane({ controllerManagerFlags: differentialFlags });
  const client = cluster.client();
  await prepare(client, names);
  // Nodes first: a pod made on a node that was still bare might be kept on the finished one.
  await writeNodes(client, firstRound, 1);
  refused = await createDaemonSets(client, templates);
});

afterAll(() => cluster?.stop());

test('the API server accepts most of the DaemonSets, and refuses some', () => {
  expect(templates.length - refused.length).toBeGreaterThanOrEqual(80);
  expect(refused.length).toBeGreaterThan(0);
});

test.each(rounds.map((nodes, round) => ({ nodes, round: round + 1 })))(
  'evaluator and DaemonSet controller agree on every pair in round $round',
  async ({ nodes, round }) => {
    const client = cluster.client();
    if (round > 1) await writeNodes(client, nodes, round);
    const settled = await settle(client, round);
    const compared = compare(shouldRun, settled, before);
    before = new Set(settled.placed);
    console.log(summary(round, compared));
    expect(compared.disagreements.slice(0, 20).join('\n')).toBe('');
    expect(compared.pairs).toBeGreaterThanOrEqual(4_800);
    expect(compared.run).toBeGreaterThan(compared.pairs / 20);
    if (round > 1) {
      expect(compared.kept).toBeGreaterThan(20);
      expect(compared.removed).toBeGreaterThan(50);
    }
  },
);

function summary(round: number, { pairs, run, kept, removed, disagreements }: Comparison): string {
  return (
    `round ${round}: ${pairs} pairs, ${run} run, ${kept} only kept, ${removed} removed, ` +
    `${disagreements.length} disagreements; ${refused.length} DaemonSets refused`
  );
}
