import { defineConfig } from 'vitest/config';

/** The suites on moto: real AWS APIs of DynamoDB, Step Functions and SQS on loopback. */
export default defineConfig({
  test: {
    include: ['test/aws/**/*.aws.test.ts'],
    fileParallelism: false,
    testTimeout: 2 * 60_000,
    hookTimeout: 10 * 60_000,
  },
});
