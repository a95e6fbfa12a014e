import { describe, expect, it } from 'vitest';
import { brokenFiles, countsOf, failedTests, mergeReports, type Report } from './report.ts';

const file = (name: string, status: 'passed' | 'failed', ...tests: string[]) => ({
  name: `${process.cwd()}/test/${name}`,
  status,
  assertionResults: tests.map((status, index) => ({
    status,
    fullName: `test ${index}`,
    failureMessages: status === 'failed' ? ['boom\nat line 3'] : [],
  })),
});

const report: Report = {
  testResults: [
    file('good', 'passed', 'passed', 'passed'),
    file('bad', 'failed', 'passed', 'failed'),
    file('hook', 'failed', 'pending', 'pending'),
    file('unloaded', 'failed'),
  ],
};

describe('what CI reads from a report', () => {
  it('counts tests, and none of a file whose hook failed', () => {
    expect(countsOf(report)).toEqual({ passed: 3, failed: 1 });
  });

  it('names each failed test with the first line of why', () => {
    expect(failedTests(report, 'unit')).toEqual(['unit | test/bad | test 1 | boom']);
  });

  it('finds the files that failed without a failed test', () => {
    expect(brokenFiles(report)).toEqual(['test/hook', 'test/unloaded']);
  });

  it('counts a file that was run again as it ended then', () => {
    const again = { testResults: [file('hook', 'passed', 'passed', 'passed')] };
    const merged = mergeReports(report, again);
    expect(countsOf(merged)).toEqual({ passed: 5, failed: 1 });
    expect(brokenFiles(merged)).toEqual(['test/unloaded']);
  });
});
