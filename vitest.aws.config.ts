import { defineConfig } from 'vitest/config';

/** The suites on moto: real AWS APIs of DynamoDB, Step Functions and SQS on loopback. */
export default defineConfig({
  test: {
    include: ['test/aws/**/*.aws.test.ts'],
    fileParallelism: false,
    // Tests that run at the same time mostly wait, but each sets up an installation at first.
    maxConcurrency: 8,
    testTimeout: 8 * 60_000,
    hookTimeout: 10 * 60_000,
  },
});
