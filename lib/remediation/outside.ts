/** What AWS's work on a cluster (lib/safety/outside-holds.ts) means for attempts and for scans. */
import type { AwsWork } from '../aws-work.ts';
import type { Config } from '../config/model.ts';
import type { Node } from '../kubernetes/objects.ts';
import { judgeOutside, type OutsideObjection, readOutside } from '../safety/outside-holds.ts';
import type { FaultVerdict } from './actionable.ts';
import type { Judgement } from './judge.ts';
import type { ClusterReading } from './situation.ts';

export interface OutsidePorts {
  awsWork?: AwsWork | undefined;
}

/** The judgement of one node, with AWS asked last: only when all else speaks for acting. */
export async function withOutside(
  { awsWork }: OutsidePorts,
  { cluster, config }: { cluster: string; config: Config },
  node: Node | undefined,
  judgement: Judgement,
): Promise<Judgement> {
  if (judgement.kind !== 'act' || node === undefined) return judgement;
  const facts = await readOutside(awsWork, cluster, [node], config.breaker);
  const objection = judgeOutside(node, facts, config.breaker);
  if (objection === undefined) return judgement;
  const { kind, code, message } = objection;
  return kind === 'hold'
    ? { kind: 'refuse', code, message }
    : { kind: 'wait', code, message, doubt: true };
}

export interface HeldBack {
  verdicts: FaultVerdict[];
  /** What holds, once each. */
  holds: Pick<OutsideObjection, 'code' | 'message'>[];
}

/** The verdicts of a scan, without those that AWS's work holds back. */
export async function holdBack(
  { awsWork }: OutsidePorts,
  { config, facts: read }: Pick<ClusterReading, 'config' | 'facts'>,
  verdicts: readonly FaultVerdict[],
): Promise<HeldBack> {
  const wanted = new Set(
    verdicts.flatMap(({ kind, gap }) => (kind === 'actionable' ? [gap.nodeUid] : [])),
  );
  const asked = read.nodes.filter(({ metadata }) => wanted.has(metadata.uid));
  const facts = await readOutside(awsWork, read.cluster, asked, config.breaker);
  const objections = new Map<string, OutsideObjection>();
  for (const node of asked) {
    const objection = judgeOutside(node, facts, config.breaker);
    if (objection !== undefined) objections.set(node.metadata.uid, objection);
  }
  const holds = new Map<string, HeldBack['holds'][number]>();
  for (const { code, message } of objections.values()) holds.set(message, { code, message });
  return {
    verdicts: verdicts.map((verdict): FaultVerdict => {
      const objection =
        verdict.kind === 'actionable' ? objections.get(verdict.gap.nodeUid) : undefined;
      if (objection === undefined) return verdict;
      const { code, message } = objection;
      // Not passing: somebody ought to know that work is withheld (case C114).
      return { kind: 'not-actionable', gap: verdict.gap, code, message, passing: false };
    }),
    holds: [...holds.values()],
  };
}
