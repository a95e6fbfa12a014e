/** Opens the state that `nodegap remediate` keeps in a cluster (docs/state-in-cluster.md). */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { type Clock, systemClock } from '../clock.ts';
import { isKubernetesError, KubernetesError, messageOf } from '../errors.ts';
import type { Transport } from '../kubernetes/transport.ts';
import { type Pacing, systemPacing } from '../pacing.ts';
import { ClusterTable } from './cluster-table.ts';
import { firstTexts, journalFrom, type Owner, ownerOf } from './journal.ts';
import { JOURNAL, Objects } from './objects.ts';
import { Patience } from './patience.ts';
import { DEFAULT_LEASE_SECONDS, SlotLeases } from './slot-leases.ts';

export interface ClusterStateOptions {
  /** Whose state this is; another one's in the same namespace is refused. */
  installation: string;
  /**
   * What the cluster is called in the keys of the state, if nobody has opened it before. Everybody
   * must use one name, whatever their kubeconfig calls it: use the one that is returned.
   */
  cluster: string;
  /** This process among all that ever work on the cluster, in words for people. */
  identity: string;
  /** Default `nodegap`. */
  namespace?: string;
  /** How long a holder may be silent; default 30. */
  leaseSeconds?: number;
  clock?: Clock;
  /** Milliseconds that only ever go on; default `performance.now`. */
  monotonic?: () => number;
  pacing?: Pacing;
  newId?: () => string;
}

export interface ClusterState {
  table: ClusterTable;
  leases: SlotLeases;
  /** The name of the cluster in the keys: that of whoever opened it first. */
  cluster: string;
  identity: string;
}

/**
 * Opens the state, makes namespace and journal when they are missing, and removes what expired.
 * @throws KubernetesError `forbidden` with what to apply; NodegapError `State.NewerVersion`,
 * `State.OtherInstallation`, `State.Corrupt`, `State.Unavailable`.
 */
export async function openClusterState(
  transport: Transport,
  options: ClusterStateOptions,
): Promise<ClusterState> {
  const { installation, identity, leaseSeconds = DEFAULT_LEASE_SECONDS } = options;
  const { clock = systemClock, pacing = systemPacing, newId = randomUUID } = options;
  const objects = new Objects(transport, options.namespace ?? 'nodegap');
  const patience = new Patience(pacing);
  const owner = await patience.until('opening', () => prepare(objects, options));
  const shared = { objects, installation, cluster: owner.cluster, identity, clock, patience };
  const leases = new SlotLeases({
    ...shared,
    monotonic: options.monotonic ?? (() => performance.now()),
    sleep: (ms, signal) =>
      options.pacing === undefined
        ? sleepFor(ms, undefined, signal === undefined ? {} : { signal })
        : pacing.sleep(ms),
  });
  const table = new ClusterTable({ ...shared, leaseSeconds, newId });
  await table.sweep();
  return { table, leases, cluster: owner.cluster, identity };
}

/** One step towards a journal; undefined when another is needed. */
async function prepare(
  objects: Objects,
  { installation, cluster }: ClusterStateOptions,
): Promise<Owner | undefined> {
  try {
    const object = await objects.get('configmap', JOURNAL);
    if (object === undefined) {
      await createJournal(objects);
      return undefined;
    }
    const journal = journalFrom(object, objects.namespace, installation);
    const owner = ownerOf(object);
    if (owner !== undefined) return owner;
    await objects.replace({ ...journal.object, texts: firstTexts({ installation, cluster }) });
    return undefined;
  } catch (error) {
    throw isKubernetesError(error, 'forbidden') ? withoutRight(error, objects.namespace) : error;
  }
}

async function createJournal(objects: Objects): Promise<void> {
  try {
    await objects.createEmpty('configmap', JOURNAL, 'journal');
  } catch (error) {
    if (!isKubernetesError(error, 'not-found')) throw error;
    await objects.createNamespace();
  }
}

function withoutRight(error: KubernetesError, namespace: string): KubernetesError {
  return new KubernetesError(
    'forbidden',
    `the state in namespace ${namespace} cannot be used: ${messageOf(error)}`,
    {
      status: error.status,
      hint: 'let somebody who may do so apply `nodegap rbac --operator`, which also makes the namespace',
      cause: error,
    },
  );
}
