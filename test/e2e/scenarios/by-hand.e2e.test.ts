/** `nodegap remediate` as a person runs it, with the rights of an operator and no others. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { writesIn } from '../harness/audit.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { node } from '../harness/state.ts';
import { nodegap } from '../support/nodegap.ts';
import { Scene } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { shapeOf } from '../support/traces.ts';

let cluster: ControlPlane;
let scene: Scene;
const folder = mkdtempSync(join(tmpdir(), 'nodegap-by-hand-'));
const config = join(folder, 'nodegap.yaml');
const evidence = join(folder, 'evidence');

beforeAll(async () => {
  cluster = await startForScenes({ patient: true, rbac: ['--operator'] });
  scene = await Scene.make(cluster, { name: 'by-hand' });
  const settings = {
    // The context of the kubeconfig.
    clusters: [{ name: 'nodegap-e2e', region: 'eu-west-1', mode: 'act' }],
    requiredDaemonSets: [{ name: scene.daemonSet }],
    timings: {
      ...{ nodeGrace: '10s', podGrace: '10s', confirmation: '5s' },
      ...{ holdDown: '20s', holdUp: '10s', poll: '5s' },
    },
    breaker: { maxUnhealthyPercent: 100 },
    approvals: { policy: 'always' },
  };
  writeFileSync(config, stringify(settings));
});
afterAll(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true });
});

function remediate(name: string, ...more: string[]) {
  const args = ['remediate', name, '--config', config, '--evidence', evidence, ...more];
  return nodegap(args, { kubeconfig: cluster.kubeconfig('operator') });
}

test('an operator has a node replaced, and needs no right but those of nodegap rbac --operator', async () => {
  const [victim] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  const claim = await scene.claimOf(name);
  const others = (await scene.nodes()).filter(({ metadata }) => metadata.uid !== uid);
  const pods = [...(await scene.webPods()), ...(await scene.agentPods())];
  const there = new Set(
    pods.filter(({ spec }) => spec.nodeName === name).map(({ metadata }) => metadata.name),
  );
  await scene.break(name, 'crash-loop');

  const { code, stdout, stderr } = await remediate(name, '--yes');
  expect(code, `${stdout}\n${stderr}`).toBe(0);

  expect(await node(cluster.client(), name)).toBeUndefined();
  await scene.allWell();
  const requests = cluster.audit('operator');
  expect(requests.filter((entry) => entry.code === 401 || entry.code === 403)).toEqual([]);
  const writes = writesIn(requests);
  // What it keeps is in a namespace of its own, and in the Lease that says that it is alive.
  const kept = writes.filter(({ namespace }) => namespace === 'nodegap');
  expect([...new Set(kept.map(({ resource }) => resource))].sort()).toEqual([
    'configmaps',
    'leases',
  ]);
  const done = writes.filter(({ namespace, resource }) => {
    return namespace !== 'nodegap' && resource !== 'events' && resource !== 'namespaces';
  });
  for (const { verb, resource, subresource, name: of } of done) {
    const what = [verb, resource, subresource].filter(Boolean).join(' ');
    if (what === 'patch nodes') expect(of).toBe(name);
    else if (what === 'delete nodeclaims') expect(of).toBe(claim.metadata.name);
    else {
      expect(what).toBe('create pods eviction');
      // Its own, or the one that the restart brought.
      expect(there.has(of ?? '') || of?.startsWith('agent-')).toBe(true);
    }
  }
  expect(done.filter(({ verb }) => verb === 'delete')).toHaveLength(1);
  for (const before of others) {
    expect(shapeOf(await scene.node(before.metadata.name))).toEqual(shapeOf(before));
  }
  expect(existsSync(evidence) && readdirSync(evidence)).not.toEqual([]);
});

test('a node without a fault is left as it is', async () => {
  const [, well] = await scene.victimAndWitness();
  const { name } = well.metadata;
  const before = cluster.audit('operator').length;
  const { code, stderr } = await remediate(name, '--yes');
  expect(code, stderr).toBe(0);
  expect(shapeOf(await scene.node(name))).toEqual(shapeOf(well));
  const writes = writesIn(cluster.audit('operator').slice(before));
  expect(writes.filter(({ namespace }) => namespace !== 'nodegap')).toEqual([]);
});
