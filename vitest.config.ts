import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [
      'test/e2e/**',
      'test/aws/**',
      'test/browser/**',
      'test/**/*.process.test.ts',
      'node_modules/**',
    ],
    testTimeout: 30_000,
  },
});
