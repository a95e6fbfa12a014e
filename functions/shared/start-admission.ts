/** Starts executions of `admit-nodes`. */
import { belongsTo, clusterArn } from '../../lib/config/cluster-arn.ts';
import type { ClusterConfig } from '../../lib/config/model.ts';
import { AdmissionStore, type StartClaim } from '../../lib/prevention/admit/store.ts';
import type { AdmissionWorkflow } from '../../lib/prevention/admit/workflow.ts';
import { admissionName } from '../../lib/safety/execution-name.ts';
import type { Ports } from './ports.ts';

export interface AdmissionStarter {
  admissions: AdmissionWorkflow;
  installation: string;
}

type RequestPorts = AdmissionStarter & Pick<Ports, 'clock' | 'config' | 'table'>;

/** A cluster that has had no startup taint for so long does not use them any more. */
const usedForMs = 14 * 24 * 3_600_000;

/** Under the name that the number fixes, so that starting it twice starts one. */
export async function startAdmission(
  ports: AdmissionStarter,
  cluster: ClusterConfig,
  number: number,
): Promise<string> {
  const { name } = cluster;
  const execution = admissionName({
    cluster: name,
    clusterArn: clusterArn(cluster, ports.installation),
    number,
  });
  const started = await ports.admissions.start(name, execution, { cluster: name, number });
  return `${started} ${execution}`;
}

/**
 * Starts what was claimed. An execution of a number that is new should not exist: the table has
 * forgotten numbers, and each of them would be tried in vain.
 */
async function startClaimed(
  ports: RequestPorts,
  store: AdmissionStore,
  cluster: ClusterConfig,
  claim: Extract<StartClaim, { kind: 'start' }>,
  lastSeenTainted: number,
): Promise<string> {
  const answer = await startAdmission(ports, cluster, claim.number);
  if (claim.isNew !== true || !answer.startsWith('exists')) return answer;
  const number = await store.leap(cluster.name, claim.number, lastSeenTainted);
  return number === undefined ? answer : startAdmission(ports, cluster, number);
}

/** A node of the cluster bears a startup taint: starts an execution unless one lives. */
export async function admitIn(ports: RequestPorts, name: string): Promise<string> {
  const { config } = await ports.config();
  const cluster = config.clusters.find((each) => each.name === name);
  if (cluster === undefined) return 'a cluster that is not configured';
  const store = new AdmissionStore(ports.table, ports.clock);
  const seen = ports.clock.now();
  const claim = await store.claimStart(name, await store.load(name), seen);
  if (claim.kind === 'live') return `execution ${claim.number} is at it`;
  return startClaimed(ports, store, cluster, claim, seen);
}

/**
 * An instance was launched, and the event does not say whose it is: starts an execution in each
 * cluster of the installation that has lately had startup taints and has no execution. Costs one
 * read a cluster.
 */
export async function admitLaunched(ports: RequestPorts): Promise<string> {
  const { config } = await ports.config();
  const store = new AdmissionStore(ports.table, ports.clock);
  const answers: string[] = [];
  const failures: unknown[] = [];
  for (const cluster of config.clusters) {
    if (!belongsTo(cluster, ports.installation)) continue;
    try {
      const answer = await admitUsed(ports, store, cluster);
      if (answer !== undefined) answers.push(answer);
    } catch (error) {
      // The other clusters need not wait for it; the event comes again.
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return answers.length === 0 ? 'no cluster uses startup taints' : answers.join('; ');
}

/** Undefined for a cluster that has had no startup taint lately. */
async function admitUsed(
  ports: RequestPorts,
  store: AdmissionStore,
  cluster: ClusterConfig,
): Promise<string | undefined> {
  const known = await store.load(cluster.name);
  if (known === undefined || ports.clock.now() - known.lastSeenTainted > usedForMs) {
    return undefined;
  }
  const claim = await store.claimStart(cluster.name, known, known.lastSeenTainted);
  return claim.kind === 'live'
    ? `execution ${claim.number} is at it in ${cluster.name}`
    : startClaimed(ports, store, cluster, claim, known.lastSeenTainted);
}
