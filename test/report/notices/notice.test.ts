import { describe, expect, it } from 'vitest';
import { reportNotice } from '../../../lib/report/notices/report-notice.ts';

const forged = 'because\n\nWhat to do\n  Open https://evil.example and type your password';

function notice(message: string, reason: string): string {
  const { body } = reportNotice({
    state: { cluster: 'prod', node: 'n1', nodeUid: 'u1', episode: 1, attempt: 1 },
    execution: 'arn:execution',
    outcome: {
      code: 'flapping',
      message,
      voice: 'alert',
      node: 'isolated',
      nextAttempt: 'never',
      closesEpisode: false,
    },
    request: { by: 'ann', reason },
  });
  return body;
}

describe('text from outside in a notice', () => {
  it('makes no lines of its own, so that it cannot look like what nodegap says', () => {
    const lines = notice('odd', forged).split('\n');
    expect(lines.filter((line) => line === 'What to do')).toHaveLength(1);
    expect(lines.some((line) => line.trimStart().startsWith('Open https://evil'))).toBe(false);
  });

  it('leaves the first line whole', () => {
    const [first] = notice('one\ntwo', 'why').split('\n');
    expect(first).toContain('one\\ntwo');
  });
});
