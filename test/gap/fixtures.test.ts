import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { detect } from '../../lib/gap/detect.ts';
import { factsFromList } from '../../lib/kubernetes/dump.ts';
import { policy } from './build.ts';

interface Expectation {
  gaps: { node: string; daemonSet: string; cause: string }[];
  notes: string;
  now: string;
  assume?: { startupTaints?: string[] };
}

const root = new URL('fixtures/', import.meta.url);
const names = readdirSync(root).sort();

function readJson(name: string) {
  return JSON.parse(readFileSync(new URL(name, root), 'utf8'));
}

function load(name: string) {
  const expected: Expectation = readJson(`${name}/expect.json`);
  const facts = factsFromList(readJson(`${name}/cluster.json`));
  const detection = detect(
    facts,
    {
      ...policy,
      allDaemonSets: true,
      startupTaints: expected.assume?.startupTaints ?? [],
    },
    Date.parse(expected.now),
  );
  return { expected, detection };
}

function byPair(a: { node: string; daemonSet: string }, b: { node: string; daemonSet: string }) {
  return `${a.node} ${a.daemonSet}` < `${b.node} ${b.daemonSet}` ? -1 : 1;
}

describe('reported clusters', () => {
  it('are all 28', () => {
    expect(names).toHaveLength(28);
  });

  test.each(names)('%s gives the gaps and causes expected', (name) => {
    const { expected, detection } = load(name);
    const found = detection.gaps.map(({ node, daemonSet, cause }) => ({ node, daemonSet, cause }));
    expect(found).toEqual([...expected.gaps].sort(byPair));
  });

  it('C09 counts no Fargate node', () => {
    const { detection } = load('C09');
    expect(detection.nodes).toBe(1);
    expect(detection.leftOut).toMatchObject([{ kind: 'fargate' }]);
  });

  it('C33 blames the DaemonSet and names the image', () => {
    const { detection } = load('C33');
    expect(detection.gaps.map(({ blame }) => blame)).toEqual(Array(4).fill('daemonset'));
    for (const { message, blameReason } of detection.gaps) {
      expect(message).toContain('eks/kube-proxy:v1.22.15-eksbuild.2');
      expect(blameReason).toBe('its pods fail with image-pull on 4 of 4 nodes');
    }
  });

  it('C34 blames nobody for want of a witness', () => {
    expect(load('C34').detection.gaps[0]).toMatchObject({
      blame: 'unclear',
      blameReason:
        '6 other nodes are healthy on revision 6c9d8f7b54, but they joined before this gap began at 2026-11-29T11:05:10Z, and may still have an image that cannot be pulled any more',
    });
  });

  it('C35 never blames a node for a missing Secret', () => {
    expect(load('C35').detection.gaps.map(({ blame }) => blame)).toEqual([
      'daemonset',
      'daemonset',
    ]);
  });

  it('C44 and C42 are within their grace', () => {
    expect(load('C44').detection.gaps[0]?.pastGrace).toBe(false);
    expect(load('C42').detection.gaps[0]?.pastGrace).toBe(false);
  });
});
