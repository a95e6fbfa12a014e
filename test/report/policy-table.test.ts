import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../lib/config/load.ts';
import { policyTable } from '../../lib/report/policy-table.ts';
import { createStyle } from '../../lib/report/style.ts';

function table(yaml: string): string {
  const cluster = 'clusters: [{ name: a, region: eu-west-1 }]\n';
  return policyTable(loadConfig(`${cluster}${yaml}`, 'nodegap.yaml').config, createStyle(false));
}

describe('the table of approval policies', () => {
  it('says which policy applies where', () => {
    const text = table(
      'approvals: { policy: drain-blocked, pools: { db: always }, causes: { volume: never } }\n',
    );
    expect(text).toMatch(/pool db +always +a person, before every drain/);
    expect(text).toMatch(/cause volume +never +nobody/);
    expect(text).toMatch(/all else +drain-blocked +a person, when a drain is blocked/);
    expect(text).toContain('the strictest holds');
  });

  it('says when people are told again, and when that can never be', () => {
    expect(table('')).toContain(
      'waits 12h, then counts as a no; reminder every 4h, escalation after 8h.',
    );
    expect(table('approvals: { remindAfter: 0s, escalateAfter: 12h }\n')).toContain(
      'no reminder, no escalation (12h is not before that).',
    );
  });
});
