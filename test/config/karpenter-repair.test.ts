import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../lib/config/load.ts';

const repairOf = (more: string) =>
  loadConfig(`clusters:\n  - { name: a, region: eu-west-1${more} }\n`, 'nodegap.yaml').config
    .clusters[0]?.karpenterNodeRepair;

describe('karpenterNodeRepair', () => {
  it('is taken to be on, since nothing shows that it is off', () => {
    expect(repairOf('')).toBe('on');
  });

  // YAML 1.1 reads these two as booleans; nodegap.yaml is YAML 1.2.
  it.each(['on', 'off'])('is %s when that is written', (value) => {
    expect(repairOf(`, karpenterNodeRepair: ${value}`)).toBe(value);
  });

  it('is nothing else', () => {
    expect(() => repairOf(', karpenterNodeRepair: maybe')).toThrow('karpenterNodeRepair');
  });
});
