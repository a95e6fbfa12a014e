import type { Mode } from '../../config/model.ts';
import type { ClusterFacts, Detection, DetectionPolicy } from '../../gap/model.ts';
import type { ConditionVerdict, FaultVerdict, GapVerdict } from '../../remediation/actionable.ts';
import type { PlanStep } from '../plan.ts';
import type { ScanReport } from '../scan-report.ts';

/** All that a page is made of. */
export interface HtmlInput {
  facts: ClusterFacts;
  policy: DetectionPolicy;
  detection: Detection;
  /** In the order of the gaps of the detection. */
  verdicts: readonly GapVerdict[];
  /** Faults of node conditions. */
  conditions?: readonly ConditionVerdict[];
  report: ScanReport;
  mode: Mode;
  /** Version of nodegap. */
  version: string;
  planOf(verdict: Extract<FaultVerdict, { kind: 'actionable' }>): {
    /** `isolate → drain → replace`. */
    arrow: string;
    steps: PlanStep[];
  };
  /** The command that explains a node, ready to be copied. */
  explainCommand(node: string): string;
}
