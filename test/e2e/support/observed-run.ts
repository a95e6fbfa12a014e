/** nodegap let loose on the cluster for one attempt, with everything recorded that happens. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadedConfig } from '../../../lib/config/model.ts';
import type { Node, NodeClaim, Pod } from '../../../lib/kubernetes/objects.ts';
import type { Notice } from '../../../lib/ports.ts';
import { type AuditEntry, writesIn } from '../harness/audit.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { nodes } from '../harness/state.ts';
import { wholeSecond } from '../harness/wait.ts';
import { type Ended, Operator, type OperatorOptions } from './operator.ts';
import { type Change, Recorder } from './recorder.ts';

export interface ObservedRun {
  /** How the attempt on each node ended, in the order of the nodes asked for. */
  ended: Ended[];
  /** Nodes on which an attempt began, each as often as one did. */
  attempts: string[];
  /** Nodes whose slot was still taken when all had ended. */
  slots: string[];
  notices: Notice[];
  /** Every request of the actuator during the run, and those that ask for a change. */
  requests: AuditEntry[];
  writes: AuditEntry[];
  /** Why scans failed; nothing gives them cause to but a control plane disturbed on purpose. */
  failures: string[];
  nodeChanges: Change<Node>[];
  podChanges: Change<Pod>[];
  claimChanges: Change<NodeClaim>[];
  /** The nodes as they were before. */
  nodesBefore: Node[];
}

export interface RunOptions {
  config: LoadedConfig;
  /** The nodes of which an attempt is waited for. */
  nodes: string[];
  /** Done once a first scan has seen the gaps, more than a second later. */
  afterFirstScan?: () => Promise<void>;
  /** Done beside what nodegap does, from the first scan of many on. */
  meanwhile?: (seen: Recorder<Node>, operator: Operator) => Promise<void>;
  operator?: OperatorOptions;
}

/**
 * Starts nodegap, waits until an attempt on each of the nodes has ended and three scans more have
 * found nothing further to do, and stops it.
 */
export async function observe(cluster: ControlPlane, options: RunOptions): Promise<ObservedRun> {
  const client = cluster.client();
  const nodesBefore = await nodes(client);
  const { actuator, disturbed = false } = options.operator ?? {};
  const how = { resumes: disturbed };
  const nodeChanges = await Recorder.start<Node>(client, '/api/v1/nodes', how);
  const podChanges = await Recorder.start<Pod>(client, '/api/v1/pods', how);
  const claims = '/apis/karpenter.sh/v1/nodeclaims';
  const claimChanges = await Recorder.start<NodeClaim>(client, claims, how);
  const audit = () => actuator?.audit() ?? cluster.audit('actuator');
  const before = audit().length;
  const operator = await Operator.connect(cluster, options.config, options.operator);
  try {
    await operator.scan();
    await sleep(wholeSecond);
    await options.afterFirstScan?.();
    operator.start();
    const [ended] = await Promise.all([
      Promise.all(options.nodes.map((name) => operator.outcomeOf(name))),
      options.meanwhile?.(nodeChanges, operator),
    ]);
    await operator.moreScans(3);
    const requests = audit().slice(before);
    return {
      ended,
      attempts: operator.attempts(),
      slots: await operator.slots(),
      notices: operator.notices,
      requests,
      writes: writesIn(requests),
      failures: operator.failures(),
      nodeChanges: nodeChanges.changes,
      podChanges: podChanges.changes,
      claimChanges: claimChanges.changes,
      nodesBefore,
    };
  } catch (error) {
    throw new Error(`${error}\n${operator.trace()}`, { cause: error });
  } finally {
    await operator.stop();
    await Promise.all([nodeChanges.stop(), podChanges.stop(), claimChanges.stop()]);
  }
}
