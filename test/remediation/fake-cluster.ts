/**
 * One cluster in memory, behind the ports. It keeps to what the API server does where it matters
 * here: resourceVersions and uids are checked, a patch is all or nothing, eviction only sets a
 * deletion timestamp. `beforePatch` lets a test write in between read and patch; `evictionAnswers`
 * overrides the answer for a pod.
 */
import { isoTime } from '../../lib/clock.ts';
import { KubernetesError } from '../../lib/errors.ts';
import type { AccessAnswer } from '../../lib/kubernetes/access-review.ts';
import type {
  DaemonSet,
  Node,
  NodeClaim,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  VolumeAttachment,
} from '../../lib/kubernetes/objects.ts';
import type {
  ClusterReader,
  ClusterWriter,
  EvictionOutcome,
  JsonPatchOperation,
  NodeEvent,
  PodRef,
} from '../../lib/ports.ts';

export class FakeCluster implements ClusterReader, ClusterWriter {
  nodes: Node[] = [];
  pods: Pod[] = [];
  daemonSets: DaemonSet[] = [];
  budgets: PodDisruptionBudget[] = [];
  claims: NodeClaim[] = [];
  attachments: VolumeAttachment[] = [];
  volumeClaims: PersistentVolumeClaim[] = [];
  events: NodeEvent[] = [];
  now = Date.parse('2026-11-29T12:00:00Z');
  /** Names of the calls, in order. */
  calls: string[] = [];
  /** Every patch that was sent, also those refused. */
  patches: JsonPatchOperation[][] = [];
  /** Called with the number of the patch (from 1) before it is applied. */
  beforePatch: (count: number) => void = () => {};
  evictionAnswers = new Map<string, EvictionOutcome | Error>();
  deletionAnswers = new Map<string, Error>();
  #version = 1000;

  node(name: string): Node {
    const node = this.nodes.find((found) => found.metadata.name === name);
    if (node === undefined) throw new Error(`the test has no node ${name}`);
    return node;
  }

  /** Changes a node as another client would. */
  touch(name: string, change: (node: Node) => void): void {
    const node = this.node(name);
    change(node);
    this.#version += 1;
    node.metadata.resourceVersion = String(this.#version);
  }

  /** Lets every pod whose grace is over go. */
  advance(seconds: number): void {
    this.now += seconds * 1000;
    this.pods = this.pods.filter(
      (pod) =>
        pod.metadata.deletionTimestamp === undefined ||
        pod.metadata.finalizers !== undefined ||
        Date.parse(pod.metadata.deletionTimestamp) > this.now,
    );
  }

  async listNodes() {
    return this.#read('listNodes', this.nodes);
  }
  async listDaemonSets() {
    return this.#read('listDaemonSets', this.daemonSets);
  }
  async listDaemonSetPods() {
    return this.#read('listDaemonSetPods', this.pods);
  }
  async listPodsOnNode(node: string) {
    return this.#read(
      'listPodsOnNode',
      this.pods.filter((pod) => pod.spec.nodeName === node),
    );
  }
  async listUnscheduledPods() {
    return this.#read(
      'listUnscheduledPods',
      this.pods.filter((pod) => pod.spec.nodeName === undefined),
    );
  }
  async listEventsOf() {
    return [];
  }
  async listPodDisruptionBudgets() {
    return this.#read('listPodDisruptionBudgets', this.budgets);
  }
  async listVolumeAttachments() {
    return this.#read('listVolumeAttachments', this.attachments);
  }
  async listNodeClaims() {
    return this.#read('listNodeClaims', this.claims);
  }
  async getNode(name: string) {
    const found = this.nodes.find((node) => node.metadata.name === name);
    return this.#read('getNode', found);
  }
  async getPod(namespace: string, name: string) {
    return this.#read('getPod', this.#pod({ namespace, name }));
  }
  async getPersistentVolumeClaim(namespace: string, name: string) {
    const found = this.volumeClaims.find(
      ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
    );
    return this.#read('getPersistentVolumeClaim', found);
  }
  async getNodeClaim(name: string) {
    const found = this.claims.find((claim) => claim.metadata.name === name);
    return this.#read('getNodeClaim', found);
  }

  async patchNode(name: string, patch: JsonPatchOperation[]): Promise<Node> {
    this.calls.push('patchNode');
    this.patches.push(patch);
    this.beforePatch(this.patches.length);
    const index = this.nodes.findIndex((node) => node.metadata.name === name);
    const node = this.nodes[index];
    if (node === undefined) throw new KubernetesError('not-found', `no node ${name}`);
    const changed = structuredClone(node);
    for (const operation of patch) apply(changed, operation);
    this.#version += 1;
    changed.metadata.resourceVersion = String(this.#version);
    this.nodes[index] = changed;
    return structuredClone(changed);
  }

  async evictPod(ref: PodRef): Promise<EvictionOutcome> {
    this.calls.push(`evictPod ${ref.namespace}/${ref.name}`);
    const answer = this.evictionAnswers.get(`${ref.namespace}/${ref.name}`);
    if (answer instanceof Error) throw answer;
    if (answer !== undefined) return answer;
    const pod = this.#pod(ref);
    if (pod === undefined || pod.metadata.uid !== ref.uid) return { kind: 'gone' };
    const grace = pod.spec.terminationGracePeriodSeconds ?? 30;
    pod.metadata.deletionTimestamp ??= isoTime(this.now + grace * 1000);
    return { kind: 'accepted' };
  }

  async deletePod(
    ref: PodRef & { resourceVersion: string },
    graceSeconds: number,
  ): Promise<'accepted' | 'gone' | 'changed'> {
    this.calls.push(`deletePod ${ref.namespace}/${ref.name} ${graceSeconds}`);
    const answer = this.deletionAnswers.get(`${ref.namespace}/${ref.name}`);
    if (answer !== undefined) throw answer;
    const pod = this.#pod(ref);
    if (pod === undefined || pod.metadata.uid !== ref.uid) return 'gone';
    if ((pod.metadata.resourceVersion ?? '') !== ref.resourceVersion) return 'changed';
    pod.metadata.deletionTimestamp ??= isoTime(this.now + graceSeconds * 1000);
    return 'accepted';
  }

  async deleteNodeClaim(name: string, uid: string): Promise<boolean> {
    this.calls.push(`deleteNodeClaim ${name}`);
    const claim = this.claims.find((found) => found.metadata.name === name);
    if (claim === undefined) return false;
    if (claim.metadata.uid !== uid) throw new KubernetesError('conflict', 'uid precondition');
    claim.metadata.deletionTimestamp ??= isoTime(this.now);
    return true;
  }

  async reviewAccess(): Promise<AccessAnswer> {
    return { kind: 'allowed' };
  }

  async createNodeEvent(event: NodeEvent): Promise<void> {
    this.events.push(event);
  }

  #pod({ namespace, name }: { namespace: string; name: string }): Pod | undefined {
    return this.pods.find(
      ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
    );
  }

  #read<T>(call: string, value: T): T {
    this.calls.push(call);
    return structuredClone(value);
  }
}

type Json = Record<string, unknown>;

/** RFC 6902 for object members, which is all that nodes need. */
function apply(node: Node, operation: JsonPatchOperation): void {
  const keys = operation.path
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop() ?? '';
  let parent = node as unknown as Json;
  for (const key of keys) {
    const next = parent[key];
    if (typeof next !== 'object' || next === null) {
      throw new KubernetesError('invalid', `${operation.path}: no ${key}`, { status: 422 });
    }
    parent = next as Json;
  }
  if (operation.path === '/metadata/resourceVersion' && operation.op === 'replace') {
    if (operation.value !== parent[last]) {
      throw new KubernetesError('conflict', 'the object has been modified', { status: 409 });
    }
    return;
  }
  switch (operation.op) {
    case 'test':
      if (JSON.stringify(parent[last]) !== JSON.stringify(operation.value)) {
        throw new KubernetesError('conflict', `test failed: ${operation.path}`, { status: 422 });
      }
      return;
    case 'add':
    case 'replace':
      parent[last] = structuredClone(operation.value);
      return;
    case 'remove':
      if (!(last in parent)) {
        throw new KubernetesError('invalid', `${operation.path}: not there`, { status: 422 });
      }
      delete parent[last];
  }
}
