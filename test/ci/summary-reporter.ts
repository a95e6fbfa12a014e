/**
 * Names for the end of CI's output what its counts do not tell:
 *
 * - FLAKY: a test that failed at first and passed when tried again, as CI does with the suites of
 *   real programs. Mend it, or what it found.
 * - ERROR: what failed outside a test: a hook, a file that does not load, a rejection that nobody
 *   handled. The tests of a `beforeAll` that failed count as skipped, so only this names it.
 */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';

interface Said {
  readonly message: string;
  readonly stack?: string | undefined;
}

export default class SummaryReporter implements Reporter {
  readonly #file: string | undefined = process.env.NODEGAP_TEST_SUMMARY;

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return;
    const [error] = test.result().errors ?? [];
    this.#write('FLAKY', [whereIs(test.module), test.fullName, firstLine(error)]);
  }

  onTestSuiteResult(suite: TestSuite): void {
    for (const error of suite.errors()) this.#error([whereIs(suite.module), suite.fullName], error);
  }

  onTestModuleEnd(module: TestModule): void {
    for (const error of module.errors()) this.#error([whereIs(module)], error);
  }

  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly Said[]): void {
    for (const error of unhandled) this.#error(['outside of every test'], error);
  }

  #error(where: readonly string[], error: Said): void {
    const at = error.stack?.split('\n').find((line) => line.includes('/test/')) ?? '';
    this.#write('ERROR', [...where, firstLine(error), at.trim()]);
  }

  #write(kind: 'FLAKY' | 'ERROR', parts: readonly string[]): void {
    if (this.#file !== undefined) appendFileSync(this.#file, `${kind}   ${parts.join(' | ')}\n`);
  }
}

function whereIs(module: TestModule): string {
  return relative(process.cwd(), module.moduleId);
}

function firstLine(error: Said | undefined): string {
  return error?.message.split('\n')[0] ?? '';
}
