/**
 * Checks of nodegap.yaml that compare entries with each other. They run on the parsed YAML itself,
 * so that they are reported together with whatever the schema finds.
 */

import { strictestPolicy } from './approval-policy.ts';
import { formatDuration } from './duration.ts';
import type { Config } from './model.ts';
import { nearest } from './suggest.ts';

/** Something wrong in the document: where (keys and indexes from its root) and what. */
export interface Problem {
  path: readonly (string | number)[];
  message: string;
  /** The problem is the key itself, not its value. */
  atKey?: boolean;
}

/** Polls that one execution may need; more would run into the history limit of Step Functions. */
const maxPolls = 1500;

function entries(root: unknown, key: string): { value: Record<string, unknown>; index: number }[] {
  const list = record(root)[key];
  if (!Array.isArray(list)) return [];
  return list.map((value, index) => ({ value: record(value), index }));
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

function duplicateNames(
  root: unknown,
  key: 'clusters' | 'networks' | 'conditionTaints',
): Problem[] {
  const first = new Map<unknown, number>();
  const problems: Problem[] = [];
  for (const { value, index } of entries(root, key)) {
    const { name } = value;
    if (typeof name !== 'string') continue;
    const before = first.get(name);
    if (before === undefined) {
      first.set(name, index);
    } else {
      const message = `"${name}" is the name of ${key}[${before}] already; names must differ`;
      problems.push({ path: [key, index, 'name'], message });
    }
  }
  return problems;
}

function networkReferences(root: unknown): Problem[] {
  const names = entries(root, 'networks')
    .map(({ value }) => value.name)
    .filter((name) => typeof name === 'string');
  const problems: Problem[] = [];
  if (names.includes('public')) {
    const index = names.indexOf('public');
    const message = '"public" is the built-in network; choose another name';
    problems.push({ path: ['networks', index, 'name'], message });
  }
  for (const { value, index } of entries(root, 'clusters')) {
    const { network } = value;
    if (typeof network !== 'string' || network === 'public' || names.includes(network)) continue;
    const near = nearest(network, [...names, 'public']);
    const what =
      near === undefined ? 'add it under networks, or leave it out' : `did you mean ${near}?`;
    const message = `there is no network "${network}"; ${what}`;
    problems.push({ path: ['clusters', index, 'network'], message });
  }
  return problems;
}

function zonesOfSubnets(root: unknown): Problem[] {
  return entries(root, 'networks').flatMap(({ value, index }): Problem[] => {
    const { subnetIds: subnets, availabilityZones: zones } = value;
    if (!Array.isArray(subnets) || !Array.isArray(zones)) return [];
    if (subnets.length === zones.length || zones.length === 0 || subnets.length === 0) return [];
    const message = `has ${zones.length} zones for ${subnets.length} subnets; write the zone of each subnet, in the same order`;
    return [{ path: ['networks', index, 'availabilityZones'], message }];
  });
}

/** Every problem that the schema cannot see. `root` is what the YAML says, valid or not. */
export function semanticProblems(root: unknown): Problem[] {
  return [
    ...duplicateNames(root, 'clusters'),
    ...duplicateNames(root, 'networks'),
    ...duplicateNames(root, 'conditionTaints'),
    ...networkReferences(root),
    ...zonesOfSubnets(root),
  ];
}

/** How long one execution may live, in seconds; a year is the limit of Step Functions. */
export const executionSeconds = 3 * 86_400;

/** Problems of a configuration that is valid otherwise. */
export function budgetProblems(config: Config): Problem[] {
  return [...pollProblems(config), ...lifetimeProblems(config)];
}

/** An execution that outlives its time ends without an answer, while people are told that they have one. */
function lifetimeProblems({ timings, drain, approvals }: Config): Problem[] {
  const questions = { never: 0, 'drain-blocked': 1, always: 2 }[strictestPolicy(approvals)];
  const parts = [
    ['approval', questions * timings.approval],
    ['drain', (drain.force.pods.length > 0 ? 2 : 1) * timings.drain],
    ['holdDown', timings.holdDown],
    ['holdDownNodeNotReady', timings.holdDownNodeNotReady - timings.holdDown],
    ['verification', timings.verification],
    ['volumes', timings.volumes],
  ] as const;
  const total = parts.reduce((sum, [, seconds]) => sum + Math.max(0, seconds), 0);
  if (total <= executionSeconds) return [];
  const [longest] = parts.toSorted(([, a], [, b]) => b - a)[0] ?? ['approval'];
  const message = `one execution lives for ${formatDuration(executionSeconds)} at most, and hold-down, answers of persons (${questions}), drain, volumes and verification together may take ${formatDuration(total)}; shorten this one first`;
  return [{ path: ['timings', longest], message }];
}

function pollProblems({ timings, drain }: Config): Problem[] {
  // What is forced takes the time of the drain once more.
  const drains = drain.force.pods.length > 0 ? 2 : 1;
  const watched =
    Math.max(timings.holdDown, timings.holdDownNodeNotReady) +
    drains * timings.drain +
    timings.volumes +
    timings.verification;
  const polls = Math.ceil(watched / timings.poll);
  if (polls <= maxPolls) return [];
  const atLeast = Math.ceil(watched / maxPolls);
  const message = `${timings.poll}s is too short: hold-down, drain, volumes and verification together need ${polls} polls, and one execution has room for ${maxPolls}; write at least ${atLeast}s`;
  return [{ path: ['timings', 'poll'], message }];
}
