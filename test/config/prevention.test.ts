import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../lib/config/load.ts';

const load = (text: string) =>
  loadConfig(`clusters: [{name: a, region: eu-west-1}]\n${text}`, 'nodegap.yaml').config;

describe('conditionTaints', () => {
  const entry = (text: string) => load(`conditionTaints: [{${text}}]`).conditionTaints;

  it('are none by default', () => {
    expect(load('').conditionTaints).toEqual([]);
  });

  it('have defaults for everything but name, type and status', () => {
    expect(entry('name: cni, type: CNIUnwell, status: True')).toEqual([
      {
        name: 'cni',
        type: 'CNIUnwell',
        status: 'True',
        reasons: [],
        minimumAge: 300,
        holdDown: 60,
        holdUp: 300,
        effect: 'NoSchedule',
      },
    ]);
  });

  it.each([
    ['type: A, status: True', 'conditionTaints[0].name: is missing'],
    ['name: A, type: A, status: True', '"A" is not a name (lower-case letters'],
    [`name: ${'a'.repeat(54)}, type: A, status: True`, 'at most 53'],
    ['name: a, type: Ready, status: False', 'Kubernetes itself taints nodes that are not Ready'],
    ['name: a, type: A, status: True, effect: NoExecute', 'deletes pods past their'],
    ['name: a, type: A, status: True, effect: Evict', 'is not one of NoSchedule, PreferNoSchedule'],
    ['name: a, type: A, status: True, reasons: [PodStuckTerminating]', 'leave it out'],
  ])('refuse %s in a clear line', (text, message) => {
    expect(() => entry(text)).toThrow(message);
  });

  it('refuse two of one name', () => {
    const rule = (type: string) => `{name: a, type: ${type}, status: True}`;
    expect(() => load(`conditionTaints: [${rule('A')}, ${rule('B')}]`)).toThrow(
      '"a" is the name of conditionTaints[0] already; names must differ',
    );
  });
});

describe('startupTaint', () => {
  it('is kept with the entry, and absent without one', () => {
    const { requiredDaemonSets } = load(
      'requiredDaemonSets: [{name: kube-system/aws-node, startupTaint: cni}, {selector: a=b}]',
    );
    expect(requiredDaemonSets).toMatchObject([{ by: 'namespaced-name', startupTaint: 'cni' }, {}]);
    expect(requiredDaemonSets[1]).not.toHaveProperty('startupTaint');
  });

  it.each(['CNI', 'nodegap.dev/startup-cni', 'a'.repeat(56), '-a'])('refuses %s', (name) => {
    expect(() => load(`requiredDaemonSets: [{name: x, startupTaint: ${name}}]`)).toThrow(
      /startupTaint: .* is not a name/,
    );
  });
});

describe('audit', () => {
  it('states no objective by default', () => {
    expect(load('').audit).toEqual({});
    expect(load('audit: {recoverySlo: 2m}').audit).toEqual({ recoverySlo: 120 });
  });
});
