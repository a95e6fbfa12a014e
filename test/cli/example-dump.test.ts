import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ScanReport } from '../../lib/report/scan-report.ts';
import { nodegap } from './run.ts';

const dump = join(import.meta.dirname, '../../examples/dump.json');

describe('examples/dump.json', () => {
  it('is small', () => {
    expect(statSync(dump).size).toBeLessThan(300_000);
  });

  it('shows four causes, with something to act on and something to leave alone', async () => {
    const { code, out } = await nodegap(['scan', '--file', dump, '-o', 'json']);
    expect(code).toBe(2);
    const { gaps, unknown } = JSON.parse(out) as ScanReport;
    expect(gaps.map(({ cause, blame, actionable }) => [cause, blame, actionable])).toEqual(
      expect.arrayContaining([
        ['sandbox', 'node', true],
        ['crash-loop', 'node', true],
        ['unschedulable-resources', 'node', true],
        ['config-error', 'daemonset', false],
      ]),
    );
    expect(gaps).toHaveLength(4);
    expect(unknown).toEqual([]);
  });
});
