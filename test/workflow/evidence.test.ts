import { afterEach, describe, expect, it } from 'vitest';
import { Episodes } from '../../lib/safety/episodes.ts';
import { addUsual, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const protect = (node: string) =>
  world.cluster.operations.editNode(node, ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, 'nodegap.dev/skip': 'mine' };
  });
const codes = () => world.outcomes.map(({ code }) => code);
const evictions = () => world.writes.filter((write) => write.endsWith('/eviction')).length;
const deletions = () => world.writes.filter((write) => write.startsWith('DELETE ')).length;

async function begin(yaml = ''): Promise<{ bad: string; uid: string }> {
  world = new World({ yaml });
  const [bad = ''] = addUsual(world, 6);
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  return { bad, uid: world.node(bad)?.metadata.uid ?? '' };
}

/** Saving fails while `isDown` says so. `tried` has what had been destroyed at each try. */
function watchStore(isDown: (phase: string) => boolean = () => false) {
  const { evidence } = world;
  const save = evidence.save.bind(evidence);
  const tried: { phase: string; evictions: number; deletions: number }[] = [];
  evidence.save = async (document) => {
    const { phase } = document;
    tried.push({ phase, evictions: evictions(), deletions: deletions() });
    if (isDown(phase)) throw new Error('no bucket');
    return save(document);
  };
  return tried;
}

describe('evidence', () => {
  it('is saved before the first eviction and again before the replacement, once each', async () => {
    const { bad, uid } = await begin();
    const tried = watchStore();
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
    expect(tried.map(({ phase }) => phase)).toEqual(['drain', 'replace']);
    expect(tried[0]?.evictions).toBe(0);
    expect(tried[1]?.evictions).toBeGreaterThan(0);
    expect(tried[1]?.deletions).toBe(0);
    expect([...world.evidence.documents.keys()]).toEqual([
      `prod/${uid}/e1-a1-before-drain.json`,
      `prod/${uid}/e1-a1-before-replace.json`,
    ]);
    const [drain, replace] = [...world.evidence.documents.values()];
    expect(drain).toMatchObject({
      schemaVersion: 1,
      cluster: 'prod',
      node: bad,
      nodeUid: uid,
      configSha256: world.config.sha256,
      judgement: { faults: [{ subject: cni, cause: 'sandbox', blame: 'node' }] },
      isolation: { cordoned: true, episode: 1, attempt: 1 },
      objects: { node: { metadata: { name: bad, uid } }, nodeClaim: { metadata: {} } },
      cut: [],
    });
    expect(drain?.judgement.faults[0]?.evidence.length).toBeGreaterThan(0);
    expect(drain?.events.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['NodegapIsolated', 'FailedCreatePodSandBox']),
    );
    const pods = (document: typeof drain) => document?.objects.pods.length ?? 0;
    expect(pods(drain)).toBeGreaterThan(pods(replace));
  });

  it('is linked in the report, in the record of the attempt and in the notice', async () => {
    const { uid } = await begin();
    await world.pass(60);
    const locations = [...world.evidence.documents.keys()].map((key) => `memory:${key}`);
    expect(world.outcomes[0]).toMatchObject({
      evidence: [
        { phase: 'drain', location: locations[0] },
        { phase: 'replace', location: locations[1] },
      ],
    });
    const [attempt] = await new Episodes(world.table, world.clock).attempts('prod', uid);
    const notice = world.notices.find(({ body }) => body.includes('replaced'));
    for (const location of locations) {
      expect(attempt?.evidence).toContain(location);
      expect(notice?.body).toContain(location);
    }
  });

  it('that cannot be saved keeps every pod where it is, and the node isolated', async () => {
    const { bad } = await begin();
    let isDown = true;
    const tried = watchStore(() => isDown);
    await world.until(() => codes().length > 0);
    expect(codes()).toEqual(['evidence-unsaved']);
    expect(world.outcomes[0]?.message).toContain('no bucket');
    expect({ evictions: evictions(), deletions: deletions() }).toEqual({
      evictions: 0,
      deletions: 0,
    });
    expect(tried.length).toBeGreaterThan(3);
    expect(world.traces(bad)).toEqual(['mark', 'cordon', 'taint']);
    expect(await world.slots()).toEqual([]);
    expect(world.cluster.list('events').map(({ reason }) => reason)).toContain(
      'NodegapEvidenceUnsaved',
    );

    isDown = false;
    await world.until(() => codes().length > 1);
    expect(codes()).toEqual(['evidence-unsaved', 'replaced']);
  });

  it('that cannot be saved before the replacement leaves the machine alone', async () => {
    const { bad } = await begin();
    watchStore((phase) => phase === 'replace');
    await world.until(() => codes().length > 0);
    expect(codes()).toEqual(['evidence-unsaved']);
    expect(evictions()).toBeGreaterThan(0);
    expect(deletions()).toBe(0);
    expect(world.node(bad)).toBeDefined();
    expect(world.traces(bad)).toEqual(['mark', 'cordon', 'taint']);
  });

  it('may be missing under best-effort, and the report says so', async () => {
    await begin('evidence: { policy: best-effort }\n');
    watchStore(() => true);
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
    expect(world.outcomes[0]).toMatchObject({
      evidence: [
        { phase: 'drain', missing: expect.stringContaining('no bucket') },
        { phase: 'replace', missing: expect.stringContaining('no bucket') },
      ],
    });
    expect(world.evidence.documents.size).toBe(0);
  });

  it('never stands in the way of undoing', async () => {
    const { bad } = await begin();
    const tried = watchStore(() => true);
    await world.until(() => world.path.includes('DrainNode'));
    world.cluster.clearFault({ node: bad, daemonSet: cni });
    world.cluster.settle();
    const before = tried.length;
    await world.until(() => codes().length > 0);
    expect(codes()).toEqual(['recovered']);
    expect(world.traces(bad)).toEqual([]);
    expect(evictions()).toBe(0);
    expect(tried.length).toBeLessThanOrEqual(before + 2);
  });

  it('is judged again after it was saved: what changed meanwhile is not destroyed', async () => {
    const { bad } = await begin();
    const { evidence } = world;
    const save = evidence.save.bind(evidence);
    evidence.save = async (document) => {
      protect(bad);
      return save(document);
    };
    await world.until(() => codes().length > 0);
    expect(evictions()).toBe(0);
    expect(codes()).toEqual(['skip']);
  });
});
