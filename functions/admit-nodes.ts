import { admittable, carryOut } from '../lib/prevention/admit/carry-out.ts';
import { decideAdmission, startupDeadlineMs } from '../lib/prevention/admit/decide.ts';
import type { AdmissionDecision } from '../lib/prevention/admit/model.ts';
import { type AdmissionMemory, readAdmission } from '../lib/prevention/admit/read.ts';
import { AdmissionStore } from '../lib/prevention/admit/store.ts';
import { LeavingStore } from '../lib/safety/leaving.ts';
import * as z from '../lib/zod.ts';
import {
  handOver,
  handOverEveryMs,
  logPatches,
  logWouldDo,
  overdueNodes,
  tellObserved,
  tellOrphans,
  waitingNodes,
} from './shared/admission-news.ts';
import { admissions } from './shared/admission-ports.ts';
import { clients } from './shared/aws-clients.ts';
import { awsPorts, lambdaHandler, notifier, publisher } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { type AdmissionStarter, startAdmission } from './shared/start-admission.ts';
import { parseEvent } from './shared/task.ts';

export type AdmissionPorts = Pick<
  Ports,
  'clock' | 'installation' | 'config' | 'table' | 'clients' | 'notifier' | 'publisher'
> &
  Pick<Ports, 'metrics' | 'log'> &
  AdmissionStarter;

/** Between two passes while some node may prove itself any moment. */
const busySeconds = 5;
/** While nothing can change quickly: only overdue, orphaned, refused or leaving nodes, or mode observe. */
const quietSeconds = 30;
/** So that an execution's history stays below 2,000 events: nine a pass (docs/workflow.md). */
export const passesOfOneExecution = 180;
/** How long no node may bear a startup taint before the execution ends: a launch takes a while. */
const lingerMs = 120_000;
/** How exact the state table knows when the cluster last had startup taints. */
const noteSeenEveryMs = 10 * 60_000;

const taskSchema = z.object({
  execution: z.string(),
  state: z.object({
    cluster: z.string().check(z.minLength(1)),
    number: z.int().check(z.positive()),
    /** What the pass before answered. */
    pass: z.optional(z.object({ passes: z.number(), lastSeenTainted: z.number() })),
  }),
});

export interface AdmitResult {
  /** `continue`: the execution with the next number goes on. */
  next: 'again' | 'done' | 'superseded' | 'continue';
  waitSeconds: number;
  passes: number;
  /** Epoch ms at which a node with a startup taint was last seen. */
  lastSeenTainted: number;
  admitted: number;
  waiting: number;
  overdue: number;
}

/**
 * AdmitPass: takes the startup taints of nodegap off every node that has proved itself, hands those
 * that have not by their deadline to `remediate-node`, and says whether to look again. In mode
 * observe it writes nothing in the cluster.
 */
export function makeHandler(ports: AdmissionPorts) {
  const memories = new Map<string, AdmissionMemory>();
  return async (event: unknown): Promise<AdmitResult> => {
    const { state, execution } = parseEvent(taskSchema, event);
    const { cluster, number } = state;
    const ids = { cluster, execution };
    try {
      const memory = memories.get(cluster) ?? {};
      memories.set(cluster, memory);
      const result = await admit(ports, memory, {
        cluster,
        number,
        execution,
        passes: state.pass?.passes ?? 0,
        lastSeenTainted: state.pass?.lastSeenTainted ?? ports.clock.now(),
      });
      ports.log.info('admit-nodes', { ...ids, number, result });
      return result;
    } catch (error) {
      ports.log.error('admit-nodes failed', { ...ids, number, error });
      throw error;
    }
  };
}

interface Pass {
  cluster: string;
  number: number;
  execution: string;
  /** Before this one. */
  passes: number;
  lastSeenTainted: number;
}

async function admit(
  ports: AdmissionPorts,
  memory: AdmissionMemory,
  pass: Pass,
): Promise<AdmitResult> {
  const { cluster, number, execution } = pass;
  const ids = { cluster, execution };
  const now = ports.clock.now();
  const store = new AdmissionStore(ports.table, ports.clock);
  const turn = (next: AdmitResult['next'], more: Partial<AdmitResult> = {}): AdmitResult => ({
    next,
    waitSeconds: busySeconds,
    passes: pass.passes + 1,
    lastSeenTainted: pass.lastSeenTainted,
    admitted: 0,
    waiting: 0,
    overdue: 0,
    ...more,
  });
  const { config } = await ports.config();
  const settings = config.clusters.find(({ name }) => name === cluster);
  const renewed = await store.renew(cluster, number);
  if (renewed.kind === 'lost') {
    // It handed on and died before its successor was started: that start is made again.
    if (!renewed.successor || settings === undefined) return turn('superseded');
    await startAdmission(ports, settings, number + 1);
    return turn('continue');
  }
  if (settings === undefined) {
    await store.free(cluster, number);
    return turn('done');
  }
  const client = await ports.clients.connect(cluster);
  const facts = await readAdmission(client, memory, config, {
    leaving: await new LeavingStore(ports.table, ports.clock).load(),
    installation: ports.installation,
    now,
  });
  const decision = decideAdmission(facts, config, now);
  const wanted = admittable(decision);
  const acts = settings.mode === 'act';
  let admitted = 0;
  let refused: ReadonlySet<string> = new Set();
  if (acts) {
    const carriedOut = await carryOut(
      client,
      wanted,
      (node) => admittable(decideAdmission({ ...facts, nodes: [node] }, config, now))[0],
      { installation: ports.installation, now },
    );
    logPatches(ports, ids, carriedOut);
    admitted = carriedOut.done.length;
    refused = new Set(carriedOut.refused.map(({ node }) => node.metadata.uid));
    if (admitted > 0) memory.admittedAt = now;
  } else {
    logWouldDo(ports, ids, wanted);
  }
  const waiting = waitingNodes(decision);
  const overdue = overdueNodes(decision);
  ports.metrics.count('WaitingNodes', waiting, { cluster });
  ports.metrics.count('OverdueNodes', overdue.length, { cluster });
  const { handedOverAt = 0 } = renewed.item;
  if (overdue.length > 0 && now - handedOverAt >= handOverEveryMs) {
    await handOver(ports, ids, overdue, { to: ports.publisher, on: acts ? client : undefined });
    await store.note(cluster, number, { handedOverAt: now });
  }
  if (decision.nodes.length > 0 && now - renewed.item.lastSeenTainted >= noteSeenEveryMs) {
    await store.note(cluster, number, { lastSeenTainted: now });
  }
  await tellOrphans(ports.notifier, store, cluster, decision);
  if (!acts) {
    const deadlineMs = startupDeadlineMs(config);
    await tellObserved(ports, store, cluster, { nodes: wanted, deadlineMs });
  }

  const lastSeenTainted = decision.nodes.length > 0 ? now : pass.lastSeenTainted;
  const counts = { lastSeenTainted, admitted, waiting, overdue: overdue.length };
  if (now - lastSeenTainted >= lingerMs) {
    await store.free(cluster, number);
    return turn('done', counts);
  }
  if (pass.passes + 1 >= passesOfOneExecution) {
    if (!(await store.handOn(cluster, number))) return turn('superseded', counts);
    await startAdmission(ports, settings, number + 1);
    return turn('continue', counts);
  }
  const waitSeconds = !acts || isQuiet(decision, refused) ? quietSeconds : busySeconds;
  return turn('again', { ...counts, waitSeconds });
}

/**
 * Whether every node that bears a startup taint waits for something that takes its time. `refused`
 * are the uids of those that may not be changed.
 */
function isQuiet({ nodes }: AdmissionDecision, refused: ReadonlySet<string>): boolean {
  return (
    nodes.length > 0 &&
    nodes.every(
      (each) =>
        each.kind === 'left-alone' ||
        refused.has(each.node.metadata.uid) ||
        (each.remove.length === 0 &&
          (each.overdue !== undefined ||
            each.wait.every(({ code }) => code === 'startup-taint-without-daemonset'))),
    )
  );
}

export const handler = lambdaHandler(
  () => awsPorts({ clients, notifier, publisher, admissions }),
  makeHandler,
);
