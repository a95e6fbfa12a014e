/** Tokens that end before their time, on an API server that asks a webhook about them, as EKS does. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eksAccessOf } from '../../../lib/aws/eks-connect.ts';
import { createEksTokens } from '../../../lib/aws/eks-token.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createReader } from '../../../lib/kubernetes/reader.ts';
import {
  type ControlPlane,
  type OwnActuator,
  startControlPlane,
} from '../harness/control-plane.ts';
import { waitFor } from '../harness/wait.ts';
import { type Connection, clusterName, type Ended } from '../support/operator.ts';
import { prepare } from '../support/rbac.ts';
import { only, Scene, statesOf, wideBreaker } from '../support/scene.ts';
import { patientNodes } from '../support/scene-cluster.ts';
import { type Account, TokenWebhook } from '../support/token-webhook.ts';
import { markOf } from '../support/traces.ts';

let cluster: ControlPlane;
let webhook: TokenWebhook;
const folder = mkdtempSync(join(tmpdir(), 'nodegap-tokens-'));
const eks = { name: clusterName, region: 'eu-west-1' };

beforeAll(async () => {
  webhook = await TokenWebhook.start();
  const file = join(folder, 'webhook.json');
  writeFileSync(file, webhook.configuration());
  cluster = await startControlPlane({
    karpenter: true,
    flags: {
      'kube-controller-manager': [patientNodes],
      'kube-apiserver': [
        `--authentication-token-webhook-config-file=${file}`,
        '--authentication-token-webhook-version=v1',
        '--authentication-token-webhook-cache-ttl=1s',
      ],
    },
  });
  await prepare(cluster);
});
afterAll(async () => {
  await cluster?.stop();
  webhook?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Kubeconfig {
  users: { name: string; user: unknown }[];
}

const kubeconfigOf = ({ kubeconfig }: OwnActuator) =>
  JSON.parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;

const userOf = (actuator: OwnActuator) => only(kubeconfigOf(actuator).users).name;

/** A role that may do what the actuator may, and the connection that a Lambda makes with it. */
function asRole({ name, actuator }: Scene): {
  account: Account;
  connect: (clock: Clock) => Promise<Connection>;
} {
  const credentials = { accessKeyId: `AKIA${name}`, secretAccessKey: `secret of ${name}` };
  const record = {
    name: eks.name,
    arn: `arn:aws:eks:eu-west-1:000000000000:cluster/${eks.name}`,
    endpoint: cluster.server,
    certificateAuthority: readFileSync(cluster.caFile, 'utf8'),
    authenticationMode: 'API',
  };
  return {
    account: webhook.addRole(userOf(actuator), eks, credentials),
    connect: async (clock) => {
      const access = eksAccessOf({
        clusters: { recordOf: async () => record, drop: () => undefined },
        tokens: createEksTokens(async () => credentials, clock),
      });
      const transport = await access.transportOf(eks);
      return { transport, reader: createReader(transport) };
    },
  };
}

test.concurrent('an EKS token that ends under way is renewed, and nobody notices', async () => {
  const scene = await Scene.make(cluster, { name: 'renewed' });
  const { account, connect } = asRole(scene);
  const [victim, witness] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  await scene.break(name, 'never-ready');
  const run = await scene.run({
    nodes: [name],
    operator: { connect },
    // Longer than the API server believes in a token that has ended.
    config: { timings: { holdDown: 20 }, breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (seen) => {
      await waitFor(
        () => seen.changes.some(({ object }) => object.metadata.uid === uid && markOf(object)),
        { timeout: 240_000, what: `${name} to be isolated` },
      );
      expect(account.accepted.size).toBe(1);
      account.endTokens();
    },
  });
  expect(only(run.ended)).toMatchObject({ code: 'replaced', blame: 'node' });
  expect(account.refused.size).toBe(1);
  // One renewal; requests on their way at that moment may bring one each.
  expect(account.accepted.size).toBeGreaterThanOrEqual(2);
  expect(account.accepted.size).toBeLessThan(6);
  // No scan failed, or `stop` had thrown.
  expect(run.failures).toEqual([]);
  expect(run.notices.map(({ kind }) => kind)).toEqual(['report']);
  await scene.expectOnlyWrittenTo(run, [name]);
  await scene.allWell();
  await scene.remove();
});

test.concurrent('a role that is locked out under way does nothing by half, says so in one line, and goes on when it is let in', async () => {
  const scene = await Scene.make(cluster, { name: 'locked-out' });
  const { account, connect } = asRole(scene);
  const [victim, witness] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  await scene.break(name, 'never-ready');
  let second: Ended | undefined;
  let meantime: { writes: string[]; gaps: number[]; attempts: string[] } | undefined;
  const run = await scene.run({
    nodes: [name],
    operator: { connect, disturbed: true },
    config: { timings: { holdDown: 20 }, breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (seen, operator) => {
      await waitFor(
        () => seen.changes.some(({ object }) => object.metadata.uid === uid && markOf(object)),
        { timeout: 240_000, what: `${name} to be isolated` },
      );
      account.shut();
      await operator.outcomeOf(name);
      const scans = operator.scans.length;
      const failures = operator.failures().length;
      await waitFor(() => operator.failures().length >= failures + 3, {
        timeout: 180_000,
        what: 'scans to fail',
      });
      expect(operator.scans.length).toBe(scans);
      const isolated = await scene.node(name);
      expect(markOf(isolated)).toMatchObject({ cordoned: true });
      meantime = {
        writes: scene.actuator
          .audit()
          .filter(({ verb }) => verb === 'delete')
          .map(({ verb }) => verb),
        gaps: operator.scans.map(({ gaps }) => gaps),
        attempts: operator.attempts(),
      };
      account.open();
      await operator.moreScans(2);
      await operator.request(victim);
      second = await operator.outcomeOf(name, 300_000, 2);
    },
  });
  const first = only(run.ended);
  expect(first.code).toBe('failed');
  expect(first.message).toMatch(
    /^Kubernetes\.unauthorised: the cluster did not accept the credentials \(401 for [A-Z]+ \S+\): Unauthorized$/,
  );
  expect(first.tasks).not.toContain('DrainNode');
  const alert = run.notices.filter(({ kind }) => kind === 'alert');
  expect(only(alert).body).toContain('did not accept the credentials');
  expect(new Set(run.failures.map((line) => line.replace(/\(401 for .*?\)/, '')))).toEqual(
    new Set(['the cluster did not accept the credentials : Unauthorized']),
  );
  // Nothing that could not be read was taken for a gap or for health.
  expect(meantime?.writes).toEqual([]);
  expect(new Set(meantime?.gaps.slice(1))).toEqual(new Set([1]));
  expect(meantime?.attempts).toEqual([name]);
  // The isolation that was begun is the one that is gone on with.
  expect(second).toMatchObject({ code: 'replaced' });
  expect(run.writes.filter(({ verb }) => verb === 'delete')).toHaveLength(1);
  const cordons = statesOf(run, uid).map(({ spec }) => spec.unschedulable === true);
  expect(cordons.filter((is, index) => is !== (cordons[index - 1] ?? false))).toEqual([true]);
  expect(run.slots).toEqual([]);
  await scene.expectOnlyWrittenTo(run, [name]);
  await scene.allWell();
  await scene.remove();
});

test.concurrent('an exec plugin is asked again when its token has ended', async () => {
  const scene = await Scene.make(cluster, { name: 'exec' });
  const account = webhook.addHolder(userOf(scene.actuator), 'exec-');
  const [credential, plugin] = [join(folder, 'credential.json'), join(folder, 'plugin')];
  const give = (token: string) =>
    writeFileSync(
      credential,
      JSON.stringify({
        apiVersion: 'client.authentication.k8s.io/v1',
        kind: 'ExecCredential',
        status: { token },
      }),
    );
  give('exec-first');
  writeFileSync(plugin, `#!/bin/sh\nexec cat '${credential}'\n`);
  chmodSync(plugin, 0o700);
  const [user] = kubeconfigOf(scene.actuator).users;
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: plugin,
    interactiveMode: 'Never',
  };
  const users = [{ name: user?.name, user: { exec } }];
  const config = { ...kubeconfigOf(scene.actuator), users };
  writeFileSync(scene.actuator.kubeconfig, JSON.stringify(config));
  const [victim, witness] = await scene.victimAndWitness();
  const { name, uid } = victim.metadata;
  await scene.break(name, 'never-ready');
  const run = await scene.run({
    nodes: [name],
    config: { timings: { holdDown: 20 }, breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (seen) => {
      await waitFor(
        () => seen.changes.some(({ object }) => object.metadata.uid === uid && markOf(object)),
        { timeout: 240_000, what: `${name} to be isolated` },
      );
      give('exec-second');
      account.endTokens();
    },
  });
  expect(only(run.ended).code).toBe('replaced');
  expect([...account.refused]).toEqual(['exec-first']);
  expect([...account.accepted]).toEqual(['exec-first', 'exec-second']);
  expect(run.failures).toEqual([]);
  await scene.expectOnlyWrittenTo(run, [name]);
  await scene.remove();
});
