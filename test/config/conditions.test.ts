import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../lib/config/load.ts';
import { detectionPolicyOf } from '../../lib/config/required.ts';

const load = (conditions: string) =>
  loadConfig(`clusters: [{name: a, region: eu-west-1}]\n${conditions}`, 'nodegap.yaml').config;
const entry = (text: string) => load(`conditions: [{${text}}]`).conditions;

describe('conditions', () => {
  it('are none by default, and then no part of the policy', () => {
    expect(load('').conditions).toEqual([]);
    expect(detectionPolicyOf(load(''), { allDaemonSets: false })).not.toHaveProperty('conditions');
  });

  it('have defaults: any reason, five minutes, isolate', () => {
    expect(entry('type: KernelDeadlock, status: "True"')).toEqual([
      { type: 'KernelDeadlock', status: 'True', reasons: [], minimumAge: 300, action: 'isolate' },
    ]);
  });

  it.each([
    ['True', 'True'],
    ['true', 'True'],
    ['"True"', 'True'],
    ['False', 'False'],
    ['Unknown', 'Unknown'],
  ])('take status %s, as YAML reads it', (written, status) => {
    expect(entry(`type: A, status: ${written}`)).toMatchObject([{ status }]);
  });

  it('become rules of the policy', () => {
    const config = load(
      'conditions: [{type: A, status: False, reasons: ["X*"], minimumAge: 90s, action: replace}]',
    );
    expect(detectionPolicyOf(config, { allDaemonSets: false }).conditions).toEqual([
      { type: 'A', status: 'False', reasons: ['X*'], minimumAgeMs: 90_000, ceiling: 'replace' },
    ]);
  });

  it.each([
    [
      'type: Ready, status: False',
      'conditions[0].type: Ready is covered already, by the cause node-not-ready; leave the entry out',
    ],
    [
      'type: A, status: False, reasons: [PodStuckTerminating]',
      'conditions[0].reasons[0]: "PodStuckTerminating" is set for pods that do not end, as in a drain, and says nothing about the machine; leave it out',
    ],
    ['type: A', 'conditions[0].status: is missing'],
    ['type: A, status: Maybe', '"Maybe" is not one of True, False, Unknown'],
    ['type: "a b", status: True', '"a b" is not the type of a node condition'],
    ['type: A, status: True, reasons: ["/^x/"]', '"/^x/" is not a reason or a pattern of one'],
    ['type: A, status: True, minimumAge: 5', '5 is not a duration'],
    ['type: A, status: True, action: drain', 'conditions[0].action'],
    ['type: A, status: True, age: 5m', 'known here: type, status, reasons, minimumAge, action'],
  ])('refuse %s in a clear line', (text, message) => {
    expect(() => entry(text)).toThrow(message);
  });
});
