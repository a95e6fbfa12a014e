/**
 * What `.ci/run` asks of vitest's JSON report:
 *
 *   node test/ci/report.ts counts REPORT         passed and failed tests
 *   node test/ci/report.ts failed REPORT SUITE   a line for each failed test
 *   node test/ci/report.ts broken REPORT         files that failed without a failed test
 *   node test/ci/report.ts merge REPORT AGAIN    puts files that were run again in place of the first
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';

export interface Report {
  testResults: FileReport[];
}

interface FileReport {
  name: string;
  status: 'passed' | 'failed';
  assertionResults: { status: string; fullName: string; failureMessages?: string[] | null }[];
}

/** Tests, not files: those of a file whose hook failed are in neither number. */
export function countsOf({ testResults }: Report): { passed: number; failed: number } {
  const all = testResults.flatMap(({ assertionResults }) => assertionResults);
  const count = (wanted: string) => all.filter(({ status }) => status === wanted).length;
  return { passed: count('passed'), failed: count('failed') };
}

/** Suite, file, test, and the first line of why it failed. */
export function failedTests({ testResults }: Report, suite: string): string[] {
  return testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => {
        const [why = ''] = failureMessages?.[0]?.split('\n') ?? [];
        return [suite, relative('.', name), fullName, why].join(' | ');
      }),
  );
}

/** Files of which a hook failed, or which did not load: vitest tries again only tests. */
export function brokenFiles({ testResults }: Report): string[] {
  return testResults
    .filter(({ status }) => status === 'failed')
    .filter(({ assertionResults }) => !assertionResults.some(({ status }) => status === 'failed'))
    .map(({ name }) => relative('.', name));
}

/** The first report with the files of the second in place of its own. */
export function mergeReports(first: Report, again: Report): Report {
  const names = new Set(again.testResults.map(({ name }) => name));
  return {
    testResults: [
      ...first.testResults.filter(({ name }) => !names.has(name)),
      ...again.testResults,
    ],
  };
}

function main([command, file = '', more = '']: string[]): string[] {
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Report;
  switch (command) {
    case 'counts': {
      const { passed, failed } = countsOf(read(file));
      return [`${passed} ${failed}`];
    }
    case 'failed':
      return failedTests(read(file), more);
    case 'broken':
      return brokenFiles(read(file));
    case 'merge':
      writeFileSync(file, JSON.stringify(mergeReports(read(file), read(more))));
      return [];
    default:
      throw new Error(`no such command: ${command}`);
  }
}

if (import.meta.main) for (const line of main(process.argv.slice(2))) console.log(line);
