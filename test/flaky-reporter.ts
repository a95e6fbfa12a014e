/**
 * Names the tests that failed at first and passed when tried again, as CI does with the suites of
 * real programs. Such a test is to be mended, or what it found is: it must not go by unseen.
 */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestCase } from 'vitest/node';

export default class FlakyReporter implements Reporter {
  readonly #file: string | undefined = process.env.NODEGAP_FLAKY_TESTS;

  onTestCaseResult(test: TestCase): void {
    if (this.#file === undefined || test.diagnostic()?.flaky !== true) return;
    const [error] = test.result().errors ?? [];
    const said = error?.message.split('\n')[0] ?? '';
    const where = relative(process.cwd(), test.module.moduleId);
    appendFileSync(this.#file, `${[where, test.fullName, said].join(' | ')}\n`);
  }
}
