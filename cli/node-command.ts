/** What the commands share that work on one node of a live cluster. */
import { type Command, Option } from 'commander';
import { UsageError } from '../lib/errors.ts';
import type { KubeconfigConnection } from '../lib/kubernetes/kubeconfig.ts';
import type { Node } from '../lib/kubernetes/objects.ts';
import { quoted } from '../lib/report/shell.ts';
import { readInstallation } from '../local/remediate/installation.ts';
import { configForPerson, type PersonConfig } from '../local/remediate/person-config.ts';
import { thisRunner } from '../local/remediate/runner-identity.ts';
import type { Session } from '../local/remediate/session.ts';
import { openSharedState } from '../local/remediate/shared-state.ts';
import { connectTo, readConfig } from './cluster-view.ts';
import { nodeSuggestion } from './commands/explain.ts';
import { calledAs } from './explain-hint.ts';
import type { Io } from './io.ts';

export interface NodeOptions {
  context?: string;
  kubeconfig?: string;
  config?: string;
  cluster?: string;
}

/** Adds the options that say which cluster, and by which configuration. */
export function addNodeOptions(command: Command): Command {
  return command
    .addOption(new Option('--context <name>', 'kubeconfig context (default: the current one)'))
    .addOption(new Option('--kubeconfig <path>', 'kubeconfig file (default: as kubectl)'))
    .addOption(new Option('--config <file>', 'nodegap.yaml (default: all defaults)'))
    .addOption(
      new Option(
        '--cluster <name>',
        'the entry of the configuration (default: by the name of the context)',
      ),
    );
}

export type CommandOf = Session['commandOf'];

/** How a command for a node is typed with the same cluster and configuration. */
export function commandsOf(io: Io, name: string, options: NodeOptions): CommandOf {
  const flags: [string, string | undefined][] = [
    ['--context', options.context],
    ['--kubeconfig', options.kubeconfig],
    ['--config', options.config],
    ['--cluster', options.cluster],
  ];
  const words = flags.flatMap(([flag, value]) =>
    value === undefined ? [] : [flag, quoted(value)],
  );
  return (command, node) => [calledAs(name, io.env), command, node, ...words].join(' ');
}

export interface Opened {
  connection: KubeconfigConnection;
  config: PersonConfig;
}

/** Connects and reads the configuration. Nothing is asked of the cluster. @throws UsageError. */
export async function openCluster(io: Io, options: NodeOptions): Promise<Opened> {
  const located = await readConfig(io, options);
  const connection = await connectTo(io, options);
  const config = configForPerson(located, connection.name, options.cluster);
  return { connection, config };
}

/** Opens the state in the cluster. @throws as `openSharedState`. */
export async function openSession(
  io: Io,
  { transport, reader }: KubeconfigConnection,
  cluster: string,
  ways: Pick<Session, 'tell' | 'commandOf'>,
): Promise<Session> {
  const clock = io.waiting;
  const runner = thisRunner();
  const installation = await readInstallation(transport);
  const state = await openSharedState(transport, { installation, cluster, runner, clock });
  // Loaded when needed: to read takes no client that writes.
  const { createWriter } = await import('../lib/kubernetes/writer.ts');
  const client = { ...reader, ...createWriter(transport, clock) };
  return { clock, cluster, client, state, installation, runner, ...ways };
}

/** @throws UsageError when `nodes` has none of that name. */
export function nodeNamed(nodes: readonly Node[], name: string, cluster: string): Node {
  const node = nodes.find(({ metadata }) => metadata.name === name);
  if (node !== undefined) return node;
  const names = nodes.map(({ metadata }) => metadata.name);
  throw new UsageError(`there is no node "${name}" in ${cluster}`, {
    hint: nodeSuggestion(name, names),
  });
}
