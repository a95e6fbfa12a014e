import { defineConfig } from 'vitest/config';

/** Many schedules of the model, on all cores: `npm run test:model`. */
export default defineConfig({
  test: {
    include: ['test/model/*.test.ts'],
    testTimeout: 15 * 60_000,
    maxWorkers: '100%',
  },
});
