/** Others who write to the taints of a node, each in the way that real controllers and people do. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Node, Taint } from '../../../lib/kubernetes/objects.ts';
import { ApiError, type KubeClient } from '../harness/client.ts';
import type { ControlPlane } from '../harness/control-plane.ts';

type Change = (client: KubeClient, read: Node, taints: Taint[]) => Promise<unknown>;

const pathOf = ({ metadata }: Node) => `/api/v1/nodes/${metadata.name}`;

/** A list of taints has no keys to merge by: everybody sends the list as a whole. */
const ways: Record<string, Change> = {
  'strategic merge': (client, read, taints) => {
    const { resourceVersion } = read.metadata;
    const patch = { metadata: { resourceVersion }, spec: { taints } };
    return client.patch(pathOf(read), patch, 'strategic');
  },
  merge: (client, read, taints) => {
    const { resourceVersion } = read.metadata;
    return client.patch(pathOf(read), { metadata: { resourceVersion }, spec: { taints } });
  },
  'JSON patch': (client, read, taints) => {
    const before = read.spec.taints;
    const add = { op: 'add', path: '/spec/taints', value: taints };
    // Demands the list as read, not the version of the node: nothing else has to stand still. Of a
    // list that is not there nothing can be demanded.
    const test =
      before === undefined
        ? { op: 'test', path: '/metadata/resourceVersion', value: read.metadata.resourceVersion }
        : { op: 'test', path: '/spec/taints', value: before };
    return client.patch(pathOf(read), [test, add], 'json');
  },
  update: (client, read, taints) =>
    client.update(pathOf(read), { ...read, spec: { ...read.spec, taints } }),
};

/** A writer that puts its own taint on a node and takes it off, again and again, until stopped. */
export class TaintWriter {
  readonly taint: Taint;
  /** How often it wrote, and how often it had to read again because somebody else had. */
  wrote = 0;
  conflicts = 0;
  /** What it found on the node although it had left it otherwise. */
  readonly losses: string[] = [];
  #isOn = false;
  #running = true;
  readonly #way: string;
  readonly #pause: number;

  /** `pause`: milliseconds between two tries at most. */
  constructor(key: string, way: string, pause: number) {
    this.taint = { key, effect: 'NoSchedule' };
    this.#way = way;
    this.#pause = pause;
  }

  async run(client: KubeClient, node: string): Promise<void> {
    const change = ways[this.#way];
    if (change === undefined) throw new Error(`nobody writes by ${this.#way}`);
    while (this.#running) {
      const read = await client.get<Node>(`/api/v1/nodes/${node}`);
      this.check(read);
      const others = (read.spec.taints ?? []).filter(({ key }) => key !== this.taint.key);
      try {
        await change(client, read, this.#isOn ? others : [...others, this.taint]);
        this.#isOn = !this.#isOn;
        this.wrote += 1;
      } catch (error) {
        // 409, or 422 for a JSON patch whose test failed.
        if (!(error instanceof ApiError) || ![409, 422].includes(error.status)) throw error;
        this.conflicts += 1;
      }
      await sleep(Math.random() * this.#pause);
    }
  }

  /** Ends by what is said here alone, so that the last write is over when `run` is. */
  stop(): void {
    this.#running = false;
  }

  check({ spec }: Node): void {
    const isOn = spec.taints?.some(({ key }) => key === this.taint.key) === true;
    if (isOn === this.#isOn) return;
    this.losses.push(
      `${this.taint.key} is ${isOn ? 'on' : 'off'} the node after ${this.wrote} writes`,
    );
  }
}

/** One writer of each way and one more. */
export function makeWriters(count: number, pause = 40): TaintWriter[] {
  const names = Object.keys(ways);
  return Array.from(
    { length: count },
    (_, n) => new TaintWriter(`writer-${n}.example/taint`, names[n % names.length] ?? '', pause),
  );
}

export const handTaint = 'by.example/hand';

/**
 * Puts a taint on and takes it off with kubectl, as a person does. kubectl sends the list that it
 * read without demanding that the node still is as it was (kubernetes/kubernetes#128304).
 */
export async function taintByHand(
  cluster: ControlPlane,
  node: string,
  times: number,
  check: (isOn: boolean) => Promise<void>,
): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    for (const isOn of [true, false]) {
      const taint = isOn ? `${handTaint}=yes:NoSchedule` : `${handTaint}-`;
      await cluster.kubectl(['taint', 'node', node, taint]);
      await check(isOn);
    }
  }
}
