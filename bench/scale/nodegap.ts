/**
 * nodegap at work, in a process of its own so that its memory and processor time are its own:
 *
 *     node bench/scale/nodegap.ts KUBECONFIG NODEGAP_YAML LOG
 *
 * The real handlers and the synthesized workflow in real time, as `test/e2e` runs them. It scans until
 * its standard input ends, and says what happens in lines of JSON (`Line`).
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import type { ScanResult } from '../../functions/scan-cluster.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { messageOf } from '../../lib/errors.ts';
import { connectFromKubeconfig } from '../../lib/kubernetes/kubeconfig.ts';
import { createWriter } from '../../lib/kubernetes/writer.ts';
import { realClock } from '../../local/clock.ts';
import { Embedded } from '../../local/embedded.ts';
import { MemoryEvidence } from '../../local/memory-evidence.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { loadDefinition } from '../../local/workflow/definition.ts';
import type { WorkflowEvent } from '../../local/workflow/runner.ts';

/** Times are epoch ms. */
export type Line =
  | { kind: 'scan'; at: number; tookMs: number; result: ScanResult }
  | { kind: 'scan-failed'; at: number; message: string }
  /** An execution has ended, as its Report says. */
  | { kind: 'ended'; at: number; node: string; attempt: number; code: string; message: string }
  /** An execution has entered a state, so that one can see where the time goes. */
  | { kind: 'entered'; at: number; node: string; attempt: number; state: string };

async function main(kubeconfigPath: string, configFile: string, logFile: string): Promise<void> {
  const config = loadConfig(readFileSync(configFile, 'utf8'), configFile);
  const [cluster] = config.config.clusters;
  if (cluster === undefined) throw new Error(`${configFile} names no cluster`);
  const connection = await connectFromKubeconfig({ kubeconfigPath });
  const client = { ...connection.reader, ...createWriter(connection.transport, realClock) };
  const log = (level: string) => (message: string, fields: Record<string, unknown>) => {
    const { error } = fields;
    const shown = error === undefined ? fields : { ...fields, error: messageOf(error) };
    const time = new Date().toISOString();
    appendFileSync(logFile, `${JSON.stringify({ time, level, message, ...shown })}\n`);
  };
  const embedded = new Embedded({
    clock: realClock,
    config,
    definition: await loadDefinition(),
    table: new MemoryTable(),
    evidence: new MemoryEvidence(),
    clients: { connect: async () => client },
    random: Math.random,
    newId: randomUUID,
    log: { info: log('info'), warn: log('warn'), error: log('error') },
    onWorkflow: (event) => void tell(event),
  });

  async function tell({ kind, execution, input, state, type }: WorkflowEvent): Promise<void> {
    const { node, attempt } = input;
    const at = Date.now();
    if (kind === 'entered' && type === 'Task') print({ kind, at, node, attempt, state });
    if (kind !== 'ended') return;
    const { code, message } = await embedded.workflow.result(execution).then(
      (result) => (result as { report: { code: string; message: string } }).report,
      (error) => ({ code: 'failed', message: messageOf(error) }),
    );
    print({ kind, at, node, attempt, code, message });
  }

  const over = new AbortController();
  process.stdin.on('end', () => over.abort()).resume();
  const { timings } = config.config;
  while (!over.signal.aborted) {
    const at = Date.now();
    try {
      const result = await embedded.scan(cluster.name);
      print({ kind: 'scan', at, tookMs: Date.now() - at, result });
    } catch (error) {
      print({ kind: 'scan-failed', at, message: messageOf(error) });
    }
    // As a scheduler does: at a fixed rate, however long a scan takes.
    const wait = Math.max(0, at + timings.scan * 1000 - Date.now());
    await realClock.sleep(wait, over.signal).catch(() => undefined);
  }
  connection.transport.close();
}

function print(line: Line): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

if (import.meta.main) {
  const [kubeconfig = '', config = '', log = ''] = process.argv.slice(2);
  await main(kubeconfig, config, log);
  // Executions that still wait would keep it alive.
  process.exit(0);
}
