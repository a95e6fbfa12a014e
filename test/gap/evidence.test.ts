import { describe, expect, it, test, vi } from 'vitest';
import type { Finding } from '../../lib/gap/finding.ts';
import { causes } from '../../lib/gap/model.ts';
import { gapOn } from './build.ts';
import { classification } from './classification-cases.ts';
import { severalFaults } from './fault-cases.ts';
import { furtherCases } from './further-cases.ts';

const findings = vi.hoisted((): Finding[] => []);

vi.mock('../../lib/gap/cause.ts', async (original) => {
  const actual = await original<typeof import('../../lib/gap/cause.ts')>();
  return {
    ...actual,
    causeOf: (...args: Parameters<typeof actual.causeOf>) => {
      const verdict = actual.causeOf(...args);
      findings.push(verdict.primary, ...verdict.others);
      return verdict;
    },
  };
});

const cases = [...classification, ...severalFaults, ...furtherCases];

describe('every finding', () => {
  test.each(cases)('explains itself: $title', ({ parts, judging, others = [] }) => {
    findings.length = 0;
    gapOn(parts, judging);
    expect(findings.length).toBeGreaterThan(others.length);
    for (const { evidence, message } of findings) {
      expect(message).not.toMatch(/undefined|null|NaN|Infinity/);
      for (const entry of evidence) {
        expect(entry).toEqual({
          object: expect.stringMatching(/^(pod|node|daemonset|event on \S+) \S+/),
          field: expect.stringMatching(/\S/),
          value: expect.stringMatching(/\S/),
          ...(entry.wouldChange === undefined ? {} : { wouldChange: expect.stringMatching(/\S/) }),
        });
        expect(Object.values(entry).join(' ')).not.toMatch(/undefined|null|NaN|Infinity/);
      }
      expect(evidence.some(({ wouldChange }) => wouldChange !== undefined)).toBe(true);
    }
  });

  it('has a cause that one of the cases comes to', () => {
    const told = new Set(cases.flatMap(({ cause, others = [] }) => [cause, ...others]));
    expect(causes.filter((cause) => !told.has(cause))).toEqual([]);
  });
});
