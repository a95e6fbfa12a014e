import { describe, expect, it } from 'vitest';
import type { Toleration } from '../../../lib/kubernetes/objects.ts';
import { type Audited, configOf, findings, said, unmade } from '../audited.ts';
import { deployment, notChecked, read } from '../prevention-facts.ts';

const leavingAfter = (tolerationSeconds?: number): Toleration[] =>
  ['not-ready', 'unreachable'].map((name) => ({
    key: `node.kubernetes.io/${name}`,
    operator: 'Exists',
    effect: 'NoExecute',
    ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
  }));
const workload = (tolerations: Toleration[], more = {}) => ({
  workloads: read(deployment('web', { tolerations, ...more })),
});
const slo = (time: string) => configOf(`audit: { recoverySlo: ${time} }\n`);

describe('short-toleration', () => {
  const check = 'short-toleration';
  it.each<[string, Audited['facts'], string[]]>([
    ['the default', workload([]), []],
    ['at once', workload(leavingAfter(0)), ['warning Deployment web']],
    ['ten seconds', workload(leavingAfter(10)), ['warning Deployment web']],
    ['thirty seconds', workload(leavingAfter(30)), []],
    ['for ever', workload(leavingAfter()), []],
    ['no replicas', workload(leavingAfter(0), { replicas: 0 }), []],
    [
      'one that tolerates all for ever before it',
      workload([{ operator: 'Exists' }, ...leavingAfter(0)]),
      [],
    ],
    [
      'one that tolerates all for ever behind it',
      workload([...leavingAfter(0), { operator: 'Exists' }]),
      ['warning Deployment web'],
    ],
  ])('%s', (_, facts, expected) => {
    expect(said(check, { facts: facts ?? {} })).toEqual(expected);
  });

  it('is not checked when workloads were not read', () => {
    expect(unmade(check, { facts: { workloads: notChecked('denied') } })).toEqual(['denied']);
  });

  it('keeps the other tolerations, behind those that are to count', () => {
    const [finding] = findings(check, {
      facts: workload([{ key: 'gpu', operator: 'Exists' }, ...leavingAfter(0)]),
    });
    const list = JSON.stringify([...leavingAfter(60), { key: 'gpu', operator: 'Exists' }]);
    expect(finding?.change).toBe(
      `kubectl -n kube-system patch deployment web --type strategic -p '{"spec":{"template":{"spec":{"tolerations":${list}}}}}'`,
    );
  });
});

describe('recovery-slower-than-slo', () => {
  const check = 'recovery-slower-than-slo';
  it.each<[string, Audited, string[]]>([
    ['none is stated', { facts: workload([]) }, []],
    ['the default within it', { facts: workload([]), config: slo('10m') }, []],
    [
      'the default beyond it',
      { facts: workload([]), config: slo('5m') },
      ['warning Deployment web'],
    ],
    ['a toleration within it', { facts: workload(leavingAfter(60)), config: slo('2m') }, []],
    [
      'for ever',
      { facts: workload(leavingAfter()), config: slo('1h') },
      ['warning Deployment web'],
    ],
  ])('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  it('proposes what keeps it', () => {
    const [finding] = findings(check, { facts: workload([]), config: slo('2m') });
    expect(finding?.change).toContain('"tolerationSeconds":70');
    expect(finding?.message).toContain('300 s after node.kubernetes.io/not-ready, the default,');
  });

  it('says when no toleration can keep it', () => {
    const [finding] = findings(check, { facts: workload([]), config: slo('1m') });
    expect(finding?.change).toContain('Tolerations alone cannot keep 60 s');
  });

  it('is not checked when workloads were not read', () => {
    const audited = { facts: { workloads: notChecked('denied') }, config: slo('2m') };
    expect(unmade(check, audited)).toEqual(['denied']);
  });
});
