import { faultWithCause } from '../lib/gap/fault.ts';
import { secondsToNextLook } from '../lib/remediation/pace.ts';
import { ReplacementStore } from '../lib/remediation/replacement-store.ts';
import { codeOfTimeout, keepVerdict } from '../lib/remediation/replacement-verdict.ts';
import { readCluster } from '../lib/remediation/situation.ts';
import { judgeReplacement } from '../lib/remediation/verification.ts';
import { readVerification } from '../lib/remediation/verification-reads.ts';
import type { VerificationResult } from '../lib/remediation/workflow-state.ts';
import { awsPorts, lambdaHandler, readers } from './shared/aws-ports.ts';
import { machines } from './shared/machine-ports.ts';
import type { JudgingPorts, Ports } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/**
 * VerifyReplacement: claim, node and machine gone, nothing left pending, and the new nodes' required
 * DaemonSets Ready, or a reason why no new node is to be expected. Bounded by the configured time
 * from the commit on.
 */
export function makeHandler(ports: JudgingPorts & Pick<Ports, 'machines'>) {
  return taskHandler(
    'VerifyReplacement',
    ports.log,
    async ({ state, execution }): Promise<VerificationResult> => {
      const { cluster, nodeUid } = state;
      const reader = await ports.readers.connect(cluster);
      const { config, facts, detection, now } = await readCluster(ports, reader, cluster);
      const polls = (state.verification?.polls ?? 0) + 1;
      const answer = (
        next: VerificationResult['next'],
        code: string,
        message: string,
        extra: Partial<VerificationResult> = {},
      ): VerificationResult => ({
        next,
        code,
        message,
        polls,
        waitSeconds: config.timings.poll,
        quietSince: 0,
        newNode: '',
        ...extra,
      });
      const before = await new ReplacementStore(ports.table).load(cluster, nodeUid);
      if (before === undefined) {
        return answer('timed-out', 'verification-lost', 'nothing is remembered of the commit');
      }
      const deadline = before.committedAt + config.timings.verification * 1000;
      const quietSince = state.verification?.quietSince;
      const verdict = judgeReplacement({
        before,
        facts,
        detection,
        ...(await readVerification(ports, reader, before, facts)),
        now,
        deadline,
        ...(quietSince ? { quietSince } : {}),
      });
      await keepVerdict(ports.table, { cluster, execution, before, now }, verdict);
      switch (verdict.kind) {
        case 'waiting':
          return answer('wait', `awaiting-${verdict.what}`, verdict.message, {
            quietSince: verdict.quietSince ?? 0,
            waitSeconds: secondsToNextLook({
              pollSeconds: Math.min(30, config.timings.poll),
              waitedMs: now - before.committedAt,
              endsInMs: deadline - now,
            }),
          });
        case 'replaced':
          return answer(
            'verified',
            'replaced',
            verdict.newNode === undefined
              ? `${state.node} is gone, and no new node was to be expected: ${verdict.because ?? ''}`
              : `${state.node} is gone; ${verdict.newNode} took its place with every required DaemonSet Ready`,
            { newNode: verdict.newNode ?? '' },
          );
        case 'not-needed':
          return answer('verified', 'replaced', 'nothing was ended, so nothing is to verify');
        case 'bad-replacement': {
          const [gap] = verdict.gaps;
          return answer(
            'bad',
            'bad-replacement',
            `the replacement ${gap?.node ?? ''} shows the same fault: ${gap === undefined ? '' : faultWithCause(gap)}`,
            { newNode: gap?.node ?? '' },
          );
        }
        case 'timed-out':
          return answer('timed-out', codeOfTimeout(verdict), verdict.message);
      }
    },
  );
}

export const handler = lambdaHandler(() => awsPorts({ readers, machines }), makeHandler);
