import { describe, expect, it } from 'vitest';
import type { InputReference, PreventionFacts } from '../../../lib/prevention/facts.ts';
import { type Audited, agent, findings, said, unmade } from '../audited.ts';
import { notChecked, read } from '../prevention-facts.ts';

const reference = (more: Partial<InputReference> = {}): InputReference => ({
  kind: 'ConfigMap',
  name: 'settings',
  optional: false,
  at: 'containers[0].env[0]',
  ...more,
});
const having = (...inputs: InputReference[]) => [agent({ inputs })];
const settings = (...keys: string[]) => read({ namespace: 'kube-system', name: 'settings', keys });

describe('missing-input', () => {
  const check = 'missing-input';
  it.each<[string, Audited, string[]]>([
    ['there', { daemonSets: having(reference()), facts: { configMaps: settings() } }, []],
    ['not there', { daemonSets: having(reference()) }, ['error DaemonSet agent']],
    ['not there and optional', { daemonSets: having(reference({ optional: true })) }, []],
    [
      'the key is there',
      { daemonSets: having(reference({ key: 'a' })), facts: { configMaps: settings('a') } },
      [],
    ],
    [
      'the key is not there',
      { daemonSets: having(reference({ key: 'a' })), facts: { configMaps: settings('b') } },
      ['error DaemonSet agent'],
    ],
    [
      'in another namespace',
      {
        daemonSets: having(reference()),
        facts: { configMaps: read({ namespace: 'default', name: 'settings', keys: [] }) },
      },
      ['error DaemonSet agent'],
    ],
    [
      'a Secret of the name of a ConfigMap',
      {
        daemonSets: having(reference({ kind: 'Secret' })),
        facts: { configMaps: settings(), secrets: read() },
      },
      ['error DaemonSet agent'],
    ],
    [
      'a manifest that lacks the key',
      {
        daemonSets: having(reference({ key: 'a' })),
        facts: { source: 'manifests', configMaps: settings('b') },
      },
      ['error DaemonSet agent'],
    ],
  ])('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  it.each<[string, Audited, RegExp]>([
    [
      'Secrets were not read',
      {
        daemonSets: having(reference({ kind: 'Secret' })),
        facts: { secrets: notChecked('no right to list secrets') },
      },
      /no right to list secrets/,
    ],
    [
      'it may be in another folder',
      { daemonSets: having(reference()), facts: { source: 'manifests' } },
      /not among the manifests/,
    ],
  ])('is not checked when %s', (_, audited, reason) => {
    expect(said(check, audited)).toEqual([]);
    expect(unmade(check, audited)).toEqual([expect.stringMatching(reason)]);
  });

  it('says how the object is made, and how the key is added', () => {
    const [made] = findings(check, { daemonSets: having(reference({ key: 'app.conf' })) });
    expect(made?.change).toContain(
      'kubectl -n kube-system create configmap settings --from-file=app.conf=./app.conf',
    );
    const [added] = findings(check, {
      daemonSets: having(reference({ kind: 'Secret', key: 'token' })),
      facts: { secrets: settings('other') },
    });
    expect(added?.change).toContain(
      `kubectl -n kube-system patch secret settings --type merge -p "$(jq -n --rawfile value ./token '{stringData: {"token": $value}}')"`,
    );
  });
});

describe('missing-service-account', () => {
  const check = 'missing-service-account';
  const running = [agent({ template: { serviceAccountName: 'agent' } })];
  const account = { namespace: 'kube-system', name: 'agent', imagePullSecrets: [] };
  it.each<[string, Audited, string[]]>([
    ['default', {}, []],
    ['there', { daemonSets: running, facts: { serviceAccounts: read(account) } }, []],
    ['not there', { daemonSets: running }, ['error DaemonSet agent']],
  ])('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  it.each<[string, Partial<PreventionFacts>]>([
    ['they were not read', { serviceAccounts: notChecked('denied') }],
    ['it may be in another folder', { source: 'manifests' }],
  ])('is not checked when %s', (_, facts) => {
    expect(said(check, { daemonSets: running, facts })).toEqual([]);
    expect(unmade(check, { daemonSets: running, facts })).toHaveLength(1);
  });
});

describe('missing-pull-secret', () => {
  const check = 'missing-pull-secret';
  const pulling = [agent({ template: { imagePullSecrets: [{ name: 'registry' }] } })];
  const accounts = read({
    namespace: 'kube-system',
    name: 'default',
    imagePullSecrets: ['registry'],
  });
  const there = read({ namespace: 'kube-system', name: 'registry', keys: ['.dockerconfigjson'] });
  it.each<[string, Audited, string[]]>([
    ['none', { facts: { secrets: read() } }, []],
    ['there', { daemonSets: pulling, facts: { secrets: there } }, []],
    ['not there', { daemonSets: pulling, facts: { secrets: read() } }, ['warning DaemonSet agent']],
    [
      'that of the service account is not there',
      { facts: { serviceAccounts: accounts, secrets: read() } },
      ['warning DaemonSet agent'],
    ],
    [
      'that of the service account counts only without one in the template',
      {
        daemonSets: [agent({ template: { imagePullSecrets: [{ name: 'other' }] } })],
        facts: {
          serviceAccounts: accounts,
          secrets: read({ namespace: 'kube-system', name: 'other', keys: [] }),
        },
      },
      [],
    ],
  ])('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  it('is not checked when Secrets were not read', () => {
    expect(
      unmade(check, { daemonSets: pulling, facts: { secrets: notChecked('denied') } }),
    ).toEqual([expect.stringContaining('denied')]);
  });
});
