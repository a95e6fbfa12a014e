import { defineConfig } from 'vitest/config';

/** The suites on a real control plane, each on one of its own; they mostly wait, so two at a time. */
export default defineConfig({
  test: {
    include: ['test/e2e/**/*.e2e.test.ts'],
    setupFiles: ['test/e2e/harness/failure-logs.setup.ts'],
    maxWorkers: 2,
    // Scenarios mostly wait, but each has nodes, a Karpenter pool and a nodegap of its own.
    maxConcurrency: 4,
    testTimeout: 10 * 60_000,
    hookTimeout: 30 * 60_000,
  },
});
