import { describe, expect, it } from 'vitest';
import type { Gap } from '../../../lib/gap/model.ts';
import { type FaultNews, faultNotices } from '../../../lib/report/notices/fault-notice.ts';
import { gapOf } from '../../remediation/samples.ts';

const news = (
  nodes: number,
  overrides: Partial<Gap> = {},
  code = 'blame-daemonset',
): FaultNews => ({
  code,
  message: `because of ${code}`,
  faults: Array.from({ length: nodes }, (_, index) =>
    gapOf({ node: `node-${index}`, nodeUid: `uid-${index}`, pool: 'general', ...overrides }),
  ),
});
const one = (each: FaultNews) => faultNotices('prod', [each])[0];

describe('the notice of a fault that is left alone', () => {
  it('tells DaemonSet, node, cluster and why in its first line, and the command to look', () => {
    const notice = one(news(1));
    expect(notice?.body.split('\n')[0]).toBe(
      'kube-system/aws-node runs on node node-0 in cluster prod and does not become Ready, and nodegap leaves it alone: because of blame-daemonset.',
    );
    expect(notice?.body).toContain('nodegap explain node-0 kube-system/aws-node');
    expect(notice).toMatchObject({ severity: 'warning', pool: 'general' });
    expect(notice).not.toHaveProperty('node');
  });

  it('is one for 500 nodes, names 20 of them, and is for now, not for working hours', () => {
    const notices = faultNotices('prod', [news(500)]);
    expect(notices).toHaveLength(1);
    expect(notices[0]?.body).toContain('on 500 nodes in cluster prod');
    expect(notices[0]?.body).toContain('and 480 more');
    expect(notices[0]?.body.length).toBeLessThan(2_000);
    expect(notices[0]?.severity).toBe('critical');
  });

  it('is one for nodes that are not Ready, whatever the DaemonSet', () => {
    const notice = one(news(2, { cause: 'node-not-ready' }, 'observer-disagrees'));
    expect(notice?.subject).toBe('nodegap: nodes not Ready in prod');
    expect(notice?.body).toMatch(
      /^2 nodes in cluster prod are not Ready, and nodegap leaves it alone: /,
    );
    expect(notice?.body).toMatch(/nodegap explain node-0$/m);
  });

  it('bears no pool when several are concerned', () => {
    const both = { ...news(2), faults: [...news(1).faults, ...news(1, { pool: 'b' }).faults] };
    expect(one(both)).not.toHaveProperty('pool');
  });

  it('is gathered with others when more than three are news in one scan', () => {
    const many = Array.from({ length: 50 }, (_, index) =>
      news(500, { daemonSet: `kube-system/agent-${index}` }),
    );
    expect(faultNotices('prod', many.slice(0, 3))).toHaveLength(3);
    const [gathered, ...more] = faultNotices('prod', many);
    expect(more).toEqual([]);
    expect(gathered?.body.split('\n')[0]).toBe(
      '50 DaemonSets or conditions are in trouble on 500 nodes of cluster prod, and nodegap leaves them alone.',
    );
    expect(gathered?.body).toContain('And 20 more.');
    expect(Buffer.byteLength(gathered?.body ?? '')).toBeLessThan(20_000);
  });
});
