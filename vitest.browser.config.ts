import { defineConfig } from 'vitest/config';

/** The suites in a real Chromium: one browser at a time, since the machine is small. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.browser.test.ts'],
    fileParallelism: false,
    testTimeout: 2 * 60_000,
    hookTimeout: 3 * 60_000,
  },
});
