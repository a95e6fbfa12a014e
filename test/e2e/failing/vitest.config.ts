import { defineConfig } from 'vitest/config';

/** Suites that fail, which failure-logs.e2e.test.ts runs to see what is left of them. */
export default defineConfig({
  test: {
    include: ['test/e2e/failing/*.fixture.ts'],
    setupFiles: ['test/e2e/harness/failure-logs.setup.ts'],
    fileParallelism: false,
    hookTimeout: 5 * 60_000,
  },
});
