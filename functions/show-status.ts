import { messageOf } from '../lib/errors.ts';
import { DrainStore } from '../lib/remediation/drain-store.ts';
import {
  type ClusterStatus,
  type HeldUp,
  readClusterStatus,
} from '../lib/safety/cluster-status.ts';
import * as z from '../lib/zod.ts';
import { awsPorts, lambdaHandler, workflow } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { parseEvent } from './shared/task.ts';

const requestSchema = z.object({ cluster: z.optional(z.string().check(z.minLength(1))) });

export type StatusAnswer =
  | { kind: 'status'; at: number; configSha: string; clusters: ClusterStatus[] }
  | { kind: 'refused'; message: string; hint: string };

/** Tells all that nodegap knows of its clusters, or of one. Changes nothing. */
export function makeHandler(ports: Pick<Ports, 'clock' | 'config' | 'table' | 'log' | 'workflow'>) {
  return async (event: unknown): Promise<StatusAnswer> => {
    const { cluster } = parseEvent(requestSchema, event);
    const { config, sha256 } = await ports.config();
    const wanted = config.clusters.filter(({ name }) => cluster === undefined || name === cluster);
    if (wanted.length === 0) {
      const names = config.clusters.map(({ name }) => name).join(', ');
      const message = `the configuration names no cluster ${cluster}`;
      return { kind: 'refused', message, hint: `it names ${names}` };
    }
    // A step that cannot be told is left out: all else is worth knowing.
    const stepOf = async (execution: string): Promise<string | undefined> => {
      try {
        return await ports.workflow.stateOf?.(execution);
      } catch (error) {
        ports.log.warn('the step of an execution could not be read', {
          execution,
          error: messageOf(error),
        });
        return undefined;
      }
    };
    const drains = new DrainStore(ports.table, ports.clock);
    const heldUpOf = async (of: string, nodeUid: string): Promise<HeldUp[]> => {
      const { blockers } = await drains.load(of, nodeUid);
      return blockers.map(({ pod: { namespace, name }, message, since }) => {
        return { pod: `${namespace}/${name}`, message, since };
      });
    };
    const clusters: ClusterStatus[] = [];
    for (const each of wanted) {
      clusters.push(await readClusterStatus(ports, each, config, { stepOf, heldUpOf }));
    }
    return { kind: 'status', at: ports.clock.now(), configSha: sha256, clusters };
  };
}

export const handler = lambdaHandler(() => awsPorts({ workflow }), makeHandler);
