/** Names of a folder of manifests may be anything: a change must stay the one command that it shows. */
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { agent, audit, configOf, noSchedule } from '../audited.ts';
import { deployment, nodePool, read } from '../prevention-facts.ts';

const hostile = `x'; echo pwned; "$(echo pwned)" \`echo pwned\`\necho pwned\n#`;

describe('changes with hostile names', () => {
  const { findings } = audit({
    daemonSets: [
      agent({
        name: hostile,
        template: {
          priorityClassName: '',
          tolerations: [],
          containers: [{ name: hostile, image: 'agent' }],
          initContainers: [{ name: hostile, image: hostile }],
          serviceAccountName: hostile,
          imagePullSecrets: [{ name: hostile }],
        },
        inputs: [{ kind: 'Secret', name: hostile, key: hostile, optional: false, at: 'x' }],
      }),
    ],
    facts: {
      secrets: read(),
      nodePools: read(nodePool(hostile, { startupTaints: [noSchedule(hostile)] })),
      workloads: read(
        deployment(hostile, { kind: 'StatefulSet' }),
        deployment(hostile, { kind: 'Job' }),
      ),
    },
    config: configOf(
      'requiredDaemonSets:\n  - { selector: "!none" }\naudit: { recoverySlo: 2m }\n',
    ),
  });

  it('are many', () => {
    expect(new Set(findings.map(({ check }) => check)).size).toBeGreaterThan(8);
  });

  it.each(findings.map(({ check, change }, index) => [`${check} ${index}`, change] as const))(
    'run nothing of their own: %s',
    (_, change) => {
      // Every command that a change knows does nothing here; what a name would run still shows.
      const quiet = 'kubectl() { :; }\njq() { :; }\naws() { :; }\n';
      const { stdout } = spawnSync('sh', ['-c', `${quiet}${change}`], { encoding: 'utf8' });
      expect(stdout).not.toContain('pwned');
    },
  );
});

it('writes patches that readers of YAML 1.1, as kubectl is one, do not take for other values', () => {
  const taint = { key: 'a', value: 'yes', effect: 'NoSchedule' };
  const { findings } = audit({
    daemonSets: [agent({ name: 'on' })],
    facts: {
      source: 'manifests',
      nodePools: read(nodePool('general', { startupTaints: [taint] })),
    },
  });
  const pool = findings.find(({ check }) => check === 'no-startup-taint');
  expect(parse(pool?.change ?? '', { version: '1.1' })).toMatchObject({
    spec: { template: { spec: { startupTaints: [taint, { key: 'nodegap.dev/startup-on' }] } } },
  });
});
