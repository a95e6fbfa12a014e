import { defineConfig } from 'vitest/config';

/** The command line in processes of its own, which signals and kill -9 meet in the middle. */
export default defineConfig({
  test: {
    include: ['test/**/*.process.test.ts'],
    testTimeout: 2 * 60_000,
    hookTimeout: 60_000,
  },
});
