/** Looks on while nodes are repaired: by watches of its own, which know nothing of nodegap. */
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Node, Pod } from '../../lib/kubernetes/objects.ts';
import type { KubeClient } from '../../test/e2e/harness/client.ts';
import { Replacements } from './replacements.ts';
import { Budgets, type PodChange, type Workload } from './workloads.ts';

interface Change<T> {
  type: PodChange['type'];
  object: T;
}

export interface Observer {
  budgets: Budgets;
  replacements: Replacements;
  /** Why what was seen is not all that happened; empty when it is. */
  problems: string[];
  stop(): Promise<void>;
}

/** Begins to look on. Everything has to be well at that moment. */
export async function observe(
  client: KubeClient,
  workloads: readonly Workload[],
  daemonSets: number,
): Promise<Observer> {
  const budgets = new Budgets(workloads);
  const replacements = new Replacements(daemonSets);
  const problems: string[] = [];
  const over = new AbortController();
  const follow = async <T>(
    path: string,
    begin: (items: T[]) => void,
    see: (change: Change<T>) => void,
  ): Promise<{ over: Promise<void> }> => {
    const list = await client.get<{ metadata: { resourceVersion: string }; items: T[] }>(path);
    begin(list.items);
    const query = `watch=true&timeoutSeconds=36000&resourceVersion=${list.metadata.resourceVersion}`;
    const stream = await client.stream(`${path}?${query}`, over.signal);
    const reading = async () => {
      try {
        for await (const line of createInterface({ input: stream })) {
          const change = JSON.parse(line) as Change<T> | { type: 'ERROR' };
          if (change.type === 'ERROR') throw new Error(line.slice(0, 300));
          see(change);
        }
      } catch (error) {
        if (!over.signal.aborted) problems.push(`the watch of ${path} failed: ${error}`);
      }
      if (!over.signal.aborted) problems.push(`the watch of ${path} has ended by itself`);
    };
    return { over: reading() };
  };
  const following = [
    await follow<Node>(
      '/api/v1/nodes',
      (items) => replacements.begin(items),
      (change) => replacements.seeNode(change, Date.now()),
    ),
    await follow<Pod>(
      '/api/v1/pods',
      (items) => {
        budgets.begin(items);
        replacements.beginPods(items);
      },
      (change) => {
        budgets.see(change);
        replacements.seePod(change, Date.now());
      },
    ),
  ];
  return {
    budgets,
    replacements,
    problems,
    async stop() {
      // What has happened is still on its way.
      await sleep(1_000);
      over.abort();
      await Promise.all(following.map(({ over: end }) => end));
    },
  };
}
