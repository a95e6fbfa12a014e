/** Sees each request of nodegap that changes the cluster, and puts the questions of invariants.ts. */

import type { Node } from '../../lib/kubernetes/objects.ts';
import type { TransportRequest } from '../../lib/kubernetes/transport.ts';
import type { Item, Write } from '../../lib/ports.ts';
import type { Installation } from './installation.ts';
import {
  type Act,
  type ActKind,
  type FleetNode,
  ofAnAct,
  type SlotFact,
  slackMs,
} from './invariants.ts';
import { invocation } from './invocation.ts';
import { daemonSets } from './setup.ts';
import type { WriteWatch } from './trouble.ts';
import type { NodeTruth } from './truth.ts';

const markKey = 'nodegap.dev/isolation';
const taintKey = 'nodegap.dev/daemonset-gap';

type Held = 'paused' | 'tripped' | 'observe';

/** The slots as the table holds them, and those that it held. */
export class SlotMirror {
  readonly #items = new Map<string, Item>();
  readonly #past: { slot: SlotFact; until: number }[] = [];

  note(writes: readonly Write[], now: number): void {
    for (const write of writes) {
      const { sk } = write.kind === 'put' ? write.item : write.key;
      if (!sk.startsWith('slot#') || write.kind === 'check') continue;
      const before = this.#items.get(sk);
      if (write.kind === 'put') this.#items.set(sk, write.item);
      else if (write.kind === 'delete') {
        this.#items.delete(sk);
        if (before !== undefined) this.#past.push({ slot: factOf(before), until: now });
      } else {
        const item: Item = { ...(before ?? write.key), ...write.set };
        for (const name of write.remove ?? []) delete item[name];
        this.#items.set(sk, item);
      }
    }
  }

  get all(): SlotFact[] {
    return [...this.#items.values()].map(factOf);
  }

  on(nodeUid: string): SlotFact | undefined {
    return this.all.find((slot) => slot.nodeUid === nodeUid);
  }

  /** Those of a node that held at `since` or later. */
  heldSince(nodeUid: string, since: number): SlotFact[] {
    const past = this.#past.filter(({ until, slot }) => until >= since && slot.nodeUid === nodeUid);
    return [
      ...past.map(({ slot }) => slot),
      ...this.all.filter((slot) => slot.nodeUid === nodeUid),
    ];
  }
}

function factOf(item: Item): SlotFact {
  const text = (name: string) => (typeof item[name] === 'string' ? item[name] : undefined);
  const number = (name: string) => (typeof item[name] === 'number' ? item[name] : undefined);
  return {
    nodeUid: text('nodeUid') ?? '',
    pool: text('pool'),
    zone: text('zone'),
    execution: text('execution') ?? '',
    acquiredAt: number('acquiredAt') ?? 0,
    parkedAt: number('parkedAt'),
    committedAt: number('committedAt'),
    canaryFor: text('canaryFor'),
  };
}

export class ActWatch implements WriteWatch {
  /** Executions in which a person has consented to drain and replace. */
  readonly consents = new Set<string>();
  /** Since when a person holds everything back. */
  readonly held = new Map<Held, number>();
  readonly #model: Installation;
  readonly #deletions: { at: number; uid: string }[] = [];
  readonly #canaries: { at: number; uid: string; daemonSet: string }[] = [];

  constructor(model: Installation) {
    this.#model = model;
  }

  before(request: TransportRequest): (status: number) => void {
    const { cluster, clock } = this.#model;
    cluster.advanceTo(clock.now());
    const { method, path } = request;
    if (/\/namespaces\/[^/]+\/events(\/[^/]+)?$/.test(path)) return () => undefined;
    // A question about rights, which changes nothing.
    if (method === 'POST' && path.endsWith('/selfsubjectaccessreviews')) return () => undefined;
    const name = path.split('/').at(-1) ?? '';
    if (method === 'PATCH' && path.startsWith('/api/v1/nodes/')) return this.#patch(request, name);
    if (method === 'POST' && path.endsWith('/eviction')) return this.#evict(request);
    if (method === 'DELETE' && path.includes('/nodeclaims/')) return this.#delete(request, name);
    return () => this.#judge(this.#act('strange', request, undefined));
  }

  #patch(request: TransportRequest, name: string): (status: number) => void {
    const { cluster, truth } = this.#model;
    const before = cluster.get('nodes', name);
    const node = truth.named(name);
    const act = this.#act('mark', request, node);
    return (status) => {
      if (status !== 200 || before === undefined) return;
      const after = cluster.get('nodes', name);
      const operations = bodyOf(request) as { op: string; path: string; value: unknown }[];
      const tests = (op: string, path: string, value: unknown) =>
        operations.some((one) => one.op === op && one.path === path && one.value === value);
      const isFenced =
        tests('test', '/metadata/uid', before.metadata.uid) &&
        tests('replace', '/metadata/resourceVersion', before.metadata.resourceVersion);
      const kind = after === undefined ? 'mark' : kindOf(before, after);
      this.#judge({ ...act, kind, before, after, isFenced });
      if (node === undefined || after === undefined) return;
      const cordons = before.spec.unschedulable !== true && after.spec.unschedulable === true;
      if (cordons) node.cordonBy = 'nodegap';
      if (kind === 'undo') truth.released(node.uid);
      truth.refresh(name);
    };
  }

  #evict(request: TransportRequest): (status: number) => void {
    const { cluster, truth } = this.#model;
    const [, namespace = '', name = ''] =
      /namespaces\/([^/]+)\/pods\/([^/]+)/.exec(request.path) ?? [];
    const pod = cluster.get('pods', `${namespace}/${name}`);
    const node = pod?.spec.nodeName === undefined ? undefined : truth.named(pod.spec.nodeName);
    const act = this.#act('evict', request, node);
    return (status) => {
      if (status !== 201 || pod === undefined || pod.metadata.deletionTimestamp !== undefined)
        return;
      const { deleteOptions } = bodyOf(request) as {
        deleteOptions?: { preconditions?: { uid?: string } };
      };
      this.#judge({ ...act, isFenced: deleteOptions?.preconditions?.uid === pod.metadata.uid });
    };
  }

  #delete(request: TransportRequest, name: string): (status: number) => void {
    const { cluster, truth } = this.#model;
    const claim = cluster.get('nodeclaims', name);
    const node = truth.present.find(
      ({ providerID }) => providerID !== undefined && providerID === claim?.status.providerID,
    );
    const act = this.#act('delete-claim', request, node);
    return (status) => {
      if (status !== 200 || claim === undefined) return;
      if (claim.metadata.deletionTimestamp !== undefined) return;
      const { preconditions } = bodyOf(request) as { preconditions?: { uid?: string } };
      this.#judge({ ...act, isFenced: preconditions?.uid === claim.metadata.uid });
      if (node === undefined) return;
      this.#deletions.push({ at: act.at, uid: node.uid });
      const daemonSet = act.slot?.canaryFor;
      if (!act.isIll && daemonSet !== undefined) {
        this.#canaries.push({ at: act.at, uid: node.uid, daemonSet });
      }
    };
  }

  #act(kind: ActKind, request: TransportRequest, node: NodeTruth | undefined): Act {
    const { truth, clock, slots, config, setup } = this.#model;
    const own = invocation();
    const at = clock.now();
    const startedAt = own?.startedAt ?? at;
    const uid = node?.uid ?? '';
    const held = [...this.held].find(([, since]) => since < startedAt)?.[0];
    const gaps = truth.pairsOf(uid).flatMap(({ gapSince }) => gapSince ?? []);
    return {
      kind,
      request: `${request.method} ${request.path}`,
      at,
      functionName: own?.name ?? '',
      startedAt,
      execution: own?.execution,
      failedReads: [...(own?.failedReads ?? [])],
      // As it is before the request: what follows changes it.
      node: node === undefined ? undefined : { ...node },
      isIll: truth.isIll(uid, startedAt) || truth.looksIll(uid, startedAt - slackMs),
      gapSince: gaps.length === 0 ? undefined : Math.min(...gaps),
      unready: truth.unready(uid),
      before: undefined,
      after: undefined,
      isFenced: true,
      slots: slots.heldSince(uid, startedAt),
      slot: slots.on(uid),
      fleet: this.#fleet(startedAt),
      limits: config.config.breaker,
      held,
      lacksConsent: setup.approvals === 'always' && !this.consents.has(own?.execution ?? ''),
      nodeGraceMs: config.config.timings.nodeGrace * 1000,
      confirmationMs: config.config.timings.confirmation * 1000,
      deletions: this.#deletions,
      canaries: this.#canaries.filter((canary) => !this.#isProven(canary)),
    };
  }

  /** A node that came for a canary, or later, shows that a pod starts well on a new node. */
  #isProven({ at, daemonSet }: { at: number; daemonSet: string }): boolean {
    const { truth } = this.#model;
    return truth.all.some(
      ({ uid, createdAt }) =>
        createdAt > at - 10 * 60_000 && truth.pair(uid, daemonSet).readyAt !== undefined,
    );
  }

  #judge(act: Act): void {
    const { name = '?' } = act.node ?? {};
    this.#model.count(`act ${act.kind}`);
    this.#model.say(`${act.functionName} ${act.kind} ${name}`);
    for (const rule of ofAnAct) {
      const finding = rule(act);
      if (finding === undefined) continue;
      this.#model.find(
        `${rule.name}: ${act.functionName} ${finding} (${act.request}, node ${name})`,
      );
    }
  }

  /** What the breaker must have counted when the call began, and nothing that it may not have. */
  #fleet(startedAt: number): FleetNode[] {
    const { truth, slots, config, cluster } = this.#model;
    const { podGrace, nodeGrace } = config.config.timings;
    const before = startedAt - slackMs;
    // Its grace begins with the first scan that sees a gap.
    const wasSeen = (from: number, to: number) => truth.scans.some((at) => from <= at && at < to);
    const inWork = new Map(
      slots.all
        .filter(({ acquiredAt }) => acquiredAt < startedAt)
        .map((slot) => [slot.nodeUid, slot]),
    );
    const present = truth.present.map((node): FleetNode => {
      const { uid, pool, zone } = node;
      const isOld = node.createdAt + nodeGrace * 1000 < before;
      const object = cluster.get('nodes', node.name);
      const isPlain = (object?.spec.taints ?? []).length === 0 && node.leavingSince === undefined;
      const hasGap = daemonSets.some((daemonSet) => {
        const { unreadySince } = truth.pair(uid, daemonSet);
        return unreadySince !== undefined && wasSeen(unreadySince, before - podGrace * 1000);
      });
      const isNotReady =
        node.notReadySince !== undefined &&
        node.notReadySince < before &&
        node.leavingSince === undefined;
      const unhealthy = inWork.has(uid) || (isOld && ((isPlain && hasGap) || isNotReady));
      inWork.delete(uid);
      return { uid, pool, zone, unhealthy };
    });
    const gone = [...inWork.values()].map(({ nodeUid, pool, zone }) => {
      return { uid: nodeUid, pool, zone, unhealthy: true };
    });
    return [...present, ...gone];
  }
}

function kindOf(before: Node, after: Node): ActKind {
  const [was, is] = [isolationOf(before), isolationOf(after)];
  if (!was.mark && is.mark) return 'isolate';
  if (!was.taint && is.taint) return was.mark ? 'taint' : 'isolate';
  if (!was.cordon && is.cordon) return 'isolate';
  return was.mark !== is.mark || was.taint !== is.taint || was.cordon !== is.cordon
    ? 'undo'
    : 'mark';
}

function isolationOf({ metadata, spec }: Node) {
  return {
    mark: metadata.annotations?.[markKey] !== undefined,
    taint: spec.taints?.some(({ key }) => key === taintKey) === true,
    cordon: spec.unschedulable === true,
  };
}

function bodyOf({ body = '' }: TransportRequest): unknown {
  return body === '' ? {} : JSON.parse(body);
}
