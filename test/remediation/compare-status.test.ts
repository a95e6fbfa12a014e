import { describe, expect, it } from 'vitest';
import { defaultConfig } from '../../lib/config/load.ts';
import type { DaemonSet } from '../../lib/kubernetes/objects.ts';
import { compareStatus } from '../../lib/remediation/compare-status.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { daemonSet, facts, minute, node, now } from '../gap/build.ts';

const required = daemonSet('agent', {
  template: { priorityClassName: 'system-node-critical' },
  status: { desiredNumberScheduled: 0 },
});
const optional = daemonSet('other', { status: { desiredNumberScheduled: 0 } });

function scanning(daemonSets: DaemonSet[], scanSeconds = 60) {
  const table = new MemoryTable();
  const config = defaultConfig('prod', 'eu-west-1');
  const timings = { ...config.timings, scan: scanSeconds };
  return async (at: number, nodes = 1) => {
    const whole = facts({
      cluster: 'prod',
      nodes: Array.from({ length: nodes }, (_, index) => node(`n${index}`)),
      daemonSets,
    });
    const reading = { config: { ...config, timings }, facts: whole, now: now + at };
    const found = await compareStatus(table, reading);
    return found.map((entry) => entry.daemonSet);
  };
}

describe('compareStatus', () => {
  it('looks at required DaemonSets only', async () => {
    const scan = scanning([optional, required]);
    for (let at = 0; at < 15; at++) expect(await scan(at * minute)).toEqual([]);
    expect(await scan(15 * minute)).toEqual(['kube-system/agent']);
  });

  it('bridges scans that were missed for five minutes, and no longer', async () => {
    const bridged = scanning([required]);
    for (const at of [0, 5, 10]) expect(await bridged(at * minute)).toEqual([]);
    expect(await bridged(15 * minute)).toHaveLength(1);
    const apart = scanning([required]);
    for (const at of [0, 6, 12, 18, 24]) expect(await apart(at * minute)).toEqual([]);
  });

  it('bridges two missed scans of a cluster that is scanned rarely', async () => {
    const rare = scanning([required], 600);
    expect(await rare(0)).toEqual([]);
    expect(await rare(30 * minute)).toHaveLength(1);
    const apart = scanning([required], 600);
    expect(await apart(0)).toEqual([]);
    expect(await apart(31 * minute)).toEqual([]);
  });

  it('forgets once they agree', async () => {
    const scan = scanning([required]);
    await scan(0);
    await scan(5 * minute);
    await scan(10 * minute, 0);
    expect(await scan(15 * minute)).toEqual([]);
  });
});
