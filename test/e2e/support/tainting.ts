/** taint-conditions on the test cluster: the real handler as the actuator, run when a test says so. */
import { randomUUID } from 'node:crypto';
import { makeHandler } from '../../../functions/taint-conditions.ts';
import type { ConditionTaintConfig, LoadedConfig } from '../../../lib/config/model.ts';
import { messageOf } from '../../../lib/errors.ts';
import { connectFromKubeconfig } from '../../../lib/kubernetes/kubeconfig.ts';
import { conditionOf, type Node, type Taint } from '../../../lib/kubernetes/objects.ts';
import { createWriter } from '../../../lib/kubernetes/writer.ts';
import type { Notice } from '../../../lib/ports.ts';
import { conditionTaintKey } from '../../../lib/prevention/condition-taints/taint.ts';
import { ScaledClock } from '../../../local/clock.ts';
import { Embedded } from '../../../local/embedded.ts';
import { MemoryEvidence } from '../../../local/memory-evidence.ts';
import { MemoryTable } from '../../../local/memory-table.ts';
import { loadDefinition } from '../../../local/workflow/definition.ts';
import { waitFor } from '../harness/wait.ts';
import { type ConfigChanges, clusterName } from './operator.ts';
import type { Scene } from './scene.ts';

const patience = 180_000;

/** What stands in the annotation `nodegap.dev/condition-taints`. */
export interface Note {
  installation: string;
  taints: Record<string, { effect: string; since: string; at: string }>;
}

export function noteOn({ metadata }: Node): Note | undefined {
  const text = metadata.annotations?.['nodegap.dev/condition-taints'];
  return text === undefined ? undefined : JSON.parse(text);
}

export function taintOf({ name }: ConditionTaintConfig, { spec }: Node): Taint | undefined {
  return spec.taints?.find(({ key }) => key === conditionTaintKey(name));
}

/** nodegap with its memory; its configuration can change as when another one is published. */
export class Tainting {
  readonly notices: Notice[] = [];
  readonly #scene: Scene;
  readonly #lines: string[] = [];
  readonly #run: (event: unknown) => Promise<unknown>;
  #config: LoadedConfig;

  private constructor(scene: Scene, embedded: (self: Tainting) => Embedded, config: LoadedConfig) {
    this.#scene = scene;
    this.#config = config;
    this.#run = makeHandler({ ...embedded(this).ports, config: async () => this.#config });
  }

  static async connect(scene: Scene, changes: ConfigChanges): Promise<Tainting> {
    const clock = new ScaledClock(Date.now(), 1);
    const { reader, transport } = await connectFromKubeconfig({
      kubeconfigPath: scene.actuator.kubeconfig,
    });
    const client = { ...reader, ...createWriter(transport, clock) };
    const definition = await loadDefinition();
    const config = scene.config(changes);
    const make = (self: Tainting) =>
      new Embedded({
        clock,
        config,
        definition,
        table: new MemoryTable(),
        evidence: new MemoryEvidence(),
        clients: { connect: async () => client },
        random: Math.random,
        newId: randomUUID,
        log: { info: self.#log('info'), warn: self.#log('warn'), error: self.#log('error') },
        onNotice: (notice) => self.notices.push(notice),
        installation: `000000000000/local/${scene.name}`,
      });
    return new Tainting(scene, make, config);
  }

  #log(level: string) {
    return (message: string, fields: Record<string, unknown>) => {
      const { error } = fields;
      const shown = error === undefined ? fields : { ...fields, error: messageOf(error) };
      this.#lines.push(`${level} ${message} ${JSON.stringify(shown)}`);
    };
  }

  publish(changes: ConfigChanges): void {
    this.#config = this.#scene.config(changes);
  }

  async times(count: number): Promise<void> {
    for (let time = 0; time < count; time += 1) await this.#run({ cluster: clusterName });
  }

  /** Runs again and again until it is so, and then twice more, which must change nothing. */
  async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    await waitFor(
      async () => {
        await this.times(1);
        return isSo();
      },
      { timeout: patience, interval: 500, what, describe: () => this.#lines.slice(-40).join('\n') },
    );
    await this.times(2);
  }
}

/**
 * A detector reports: by the status subresource, as node-problem-detector does. The time of the last
 * change stays while the status does. `agoMs`: how old the report is.
 */
export async function report(
  scene: Scene,
  name: string,
  {
    type,
    status,
    reason,
    agoMs = 0,
  }: { type: string; status: string; reason: string; agoMs?: number },
): Promise<void> {
  const before = conditionOf((await scene.node(name)).status.conditions, type);
  const at = `${new Date(Date.now() - agoMs).toISOString().slice(0, 19)}Z`;
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : at;
  const condition = {
    type,
    status,
    reason,
    message: 'a test',
    lastHeartbeatTime: at,
    lastTransitionTime,
  };
  const path = `/api/v1/nodes/${name}/status`;
  await scene.cluster.client().patch(path, { status: { conditions: [condition] } }, 'strategic');
}
