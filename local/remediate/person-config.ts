/** The configuration of an attempt that a person asks for at a terminal. */
import { configSha256 } from '../../lib/config/canonical.ts';
import { defaultConfig, type LocatedConfig } from '../../lib/config/load.ts';
import type { Config, LoadedConfig } from '../../lib/config/model.ts';
import { UsageError } from '../../lib/errors.ts';

export interface PersonConfig {
  /** The name of the cluster in the configuration. */
  cluster: string;
  loaded: LoadedConfig;
  /** What a person should know about it, a line each. */
  notes: string[];
  /** Why nothing new may be done to the nodes; undoing may go on. */
  refusal?: { code: 'mode-observe'; message: string };
}

/**
 * Without a file the defaults hold, the cluster counts as in mode act, since a person asks for this
 * one attempt, and that person is asked before the drain. With a file, what it says holds: a cluster
 * in mode observe is not touched.
 *
 * Machines of Auto Scaling groups are never ended from a terminal: what AWS knows of them cannot be
 * asked here.
 * @throws UsageError when the file has no entry for the cluster.
 */
export function configForPerson(
  located: LocatedConfig | undefined,
  context: string,
  wanted: string | undefined,
): PersonConfig {
  if (located === undefined) {
    const base = defaultConfig(wanted ?? context, 'unknown');
    const config: Config = {
      ...base,
      clusters: base.clusters.map((cluster) => ({ ...cluster, mode: 'act' })),
      approvals: { ...base.approvals, policy: 'always' },
    };
    return {
      cluster: wanted ?? context,
      loaded: withoutMachines(config),
      notes: [
        'no --config: the defaults hold, the cluster counts as in mode act for this attempt, and you are asked before the drain',
      ],
    };
  }
  const { config, fileName } = located;
  const entry = config.clusters.find(({ name }) =>
    wanted === undefined
      ? name === context || context.endsWith(`:cluster/${name}`)
      : name === wanted,
  );
  const names = config.clusters.map(({ name }) => name).join(', ');
  if (entry === undefined) {
    throw new UsageError(`no cluster of ${fileName} is called "${wanted ?? context}"`, {
      hint: `say which entry is meant with --cluster; it has: ${names}`,
    });
  }
  const ready: PersonConfig = { cluster: entry.name, loaded: withoutMachines(config), notes: [] };
  if (entry.mode === 'observe') {
    const message = `${fileName} has cluster ${entry.name} in mode observe, so nothing is done to its nodes; set mode: act there, or leave --config out to answer for this attempt yourself`;
    return { ...ready, refusal: { code: 'mode-observe', message } };
  }
  return ready;
}

function withoutMachines(before: Config): LoadedConfig {
  const config: Config = {
    ...before,
    replacement: { ...before.replacement, managedNodeGroup: 'notify', autoScalingGroup: 'notify' },
  };
  return { config, sha256: configSha256(config) };
}
