import { loadConfig } from '../lib/config/load.ts';
import { ConfigStore } from '../lib/config/store.ts';
import * as z from '../lib/zod.ts';
import { awsPorts, lambdaHandler } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { parseEvent } from './shared/task.ts';

const eventSchema = z.object({
  RequestType: z.enum(['Create', 'Update', 'Delete']),
  PhysicalResourceId: z.optional(z.string()),
  ResourceProperties: z.object({ document: z.string(), fileName: z.string() }),
});

/**
 * The deployment's custom resource: validates the configuration document, writes it under its
 * sha256, then moves the pointer `current`. Deleting the stack leaves the document where it is.
 */
export function makeHandler(ports: Pick<Ports, 'clock' | 'table' | 'log'>) {
  return async (event: unknown) => {
    const { RequestType, PhysicalResourceId, ResourceProperties } = parseEvent(eventSchema, event);
    if (RequestType === 'Delete') return { PhysicalResourceId };
    const { document, fileName } = ResourceProperties;
    const loaded = loadConfig(document, fileName);
    await new ConfigStore(ports.table, ports.clock).publish(loaded);
    ports.log.info('configuration published', { sha256: loaded.sha256 });
    return { PhysicalResourceId: 'nodegap-config', Data: { sha256: loaded.sha256 } };
  };
}

export const handler = lambdaHandler(() => awsPorts({}), makeHandler);
