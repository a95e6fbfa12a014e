import { belongsTo, clusterArn } from '../lib/config/cluster-arn.ts';
import type { ClusterConfig, Config } from '../lib/config/model.ts';
import { messageOf } from '../lib/errors.ts';
import { nodeRequested } from '../lib/remediation/bus-events.ts';
import { forecastOf } from '../lib/remediation/request.ts';
import { readSituation } from '../lib/remediation/situation.ts';
import { executionLink } from '../lib/report/notices/links.ts';
import type { PersonRequest } from '../lib/safety/episode-items.ts';
import { type Episode, Episodes, executionName } from '../lib/safety/episodes.ts';
import * as z from '../lib/zod.ts';
import type { CorePorts } from './shared/aws-ports.ts';
import {
  awsPorts,
  awsWork,
  lambdaHandler,
  publisher,
  readers,
  workflow,
} from './shared/aws-ports.ts';
import { observers } from './shared/observer-ports.ts';
import type { JudgingPorts, Ports } from './shared/ports.ts';
import { parseEvent } from './shared/task.ts';

type RequestPorts = JudgingPorts &
  Pick<Ports, 'publisher' | 'workflow'> & {
    /** The network whose clusters this function reaches. */
    network: string;
  };

const name = z.string().check(z.minLength(1), z.maxLength(253));
const ordinal = z.int().check(z.positive());
const requestSchema = z.discriminatedUnion('action', [
  z.object({
    action: z.literal('start'),
    /** May be left out where the configuration has one cluster. */
    cluster: z.optional(name),
    node: name,
    /** Who asks, as the caller's IAM identity says. */
    by: z.string().check(z.minLength(1)),
    reason: z.string().check(z.maxLength(500)),
  }),
  z.object({
    action: z.literal('follow'),
    cluster: name,
    nodeUid: name,
    episode: ordinal,
    attempt: ordinal,
  }),
]);
type StartRequest = Extract<z.infer<typeof requestSchema>, { action: 'start' }>;
type FollowRequest = Extract<z.infer<typeof requestSchema>, { action: 'follow' }>;

/** An attempt, and the execution that makes it. */
export interface RequestedAttempt {
  cluster: string;
  node: string;
  nodeUid: string;
  episode: number;
  attempt: number;
  /** Name of the execution. */
  execution: string;
  /** Of the AWS console, once the execution has said that it runs. */
  link?: string;
}

export type RequestAnswer =
  | ({ kind: 'started'; message: string; warning?: string } & RequestedAttempt)
  /** Somebody works on the node already: nothing was started. */
  | ({ kind: 'running'; message: string } & RequestedAttempt)
  /** The request is on its way; the router has not taken it yet. */
  | ({ kind: 'sent'; message: string; warning?: string } & RequestedAttempt)
  /** Another function reaches that cluster. */
  | { kind: 'elsewhere'; network: string; message: string }
  | { kind: 'refused'; message: string; hint?: string };

export type FollowAnswer =
  | { kind: 'working'; step?: string; link?: string }
  | { kind: 'waiting' }
  | {
      kind: 'ended';
      code: string;
      message: string;
      steps?: string;
      evidence?: string;
      link?: string;
    }
  /** A later attempt is on, and nothing is kept of this one. */
  | { kind: 'unknown'; message: string };

/** How long the router is waited for, and how often one looks. */
const patience = { tries: 40, everyMs: 500 };

/**
 * Asks for an attempt on a node in the name of whoever calls it through IAM, and tells how it goes.
 * It starts nothing itself: the one router does, under the name of the attempt that is next, so that
 * a request, a scan and a second request for the same node start one execution.
 */
export function makeHandler(ports: RequestPorts) {
  return async (event: unknown): Promise<RequestAnswer | FollowAnswer> => {
    const request = parseEvent(requestSchema, event);
    return request.action === 'start' ? start(ports, request) : follow(ports, request);
  };
}

async function start(ports: RequestPorts, request: StartRequest): Promise<RequestAnswer> {
  const { config } = await ports.config();
  const found = clusterIn(config, request.cluster, ports);
  if ('kind' in found) return found;
  const { node: nodeName, by, reason } = request;
  const cluster = found.name;

  const reader = await ports.readers.connect(cluster);
  const node = await reader.getNode(nodeName);
  if (node === undefined) {
    const message = `cluster ${cluster} has no node ${nodeName}`;
    return { kind: 'refused', message, hint: 'kubectl get nodes' };
  }
  const nodeUid = node.metadata.uid;
  const episodes = new Episodes(ports.table, ports.clock);
  const before = await episodes.get(cluster, nodeUid);
  const attemptOf = (at: Pick<Episode, 'episode' | 'attempt'>, arn?: string): RequestedAttempt => {
    const numbers = { episode: at.episode, attempt: at.attempt };
    const arnOfCluster = clusterArn(found, ports.installation);
    const execution = executionName({ cluster, clusterArn: arnOfCluster, nodeUid, ...numbers });
    const link = arn === undefined ? undefined : executionLink(arn);
    const target = { cluster, node: nodeName, nodeUid, ...numbers, execution };
    return link === undefined ? target : { ...target, link };
  };
  const running = (at: Episode): RequestAnswer => ({
    kind: 'running',
    message: `${attemptOf(at).execution} works on ${nodeName} already${whoAsked(at)}; nothing was started`,
    ...attemptOf(at, at.execution),
  });
  if (isRunning(before)) return running(before);

  const next = nextOf(before);
  const state = { cluster, node: nodeName, nodeUid, ...next };
  const { judgement } = await readSituation(ports, reader, state, 'quick');
  const forecast = forecastOf(judgement, cluster);
  if (forecast.kind === 'refused') {
    const { message, hint } = forecast;
    return { kind: 'refused', message, hint };
  }
  const warning = forecast.kind === 'idle' ? { warning: forecast.message } : {};

  await ports.publisher.publish([
    { detailType: nodeRequested, detail: { cluster, node: nodeName, nodeUid, by, reason } },
  ]);
  ports.log.info('a person asks for a node', { cluster, node: nodeName, nodeUid, by, reason });
  const taken = await takenBy(ports, episodes, state);
  if (taken === undefined) {
    const message = `${nodeName} is asked for; the router has not taken it up yet`;
    return { kind: 'sent', message, ...warning, ...attemptOf(next) };
  }
  // A scan may have been first, or another person: then theirs is the attempt.
  if (taken.request?.by !== by || taken.request.reason !== reason) return running(taken);
  const attempt = attemptOf(taken, taken.execution);
  return {
    kind: 'started',
    message: `${attempt.execution} works on ${nodeName}`,
    ...warning,
    ...attempt,
  };
}

function clusterIn(
  config: Config,
  asked: string | undefined,
  ports: Pick<RequestPorts, 'installation' | 'network'>,
): ClusterConfig | Extract<RequestAnswer, { kind: 'refused' | 'elsewhere' }> {
  const own = config.clusters.filter((cluster) => belongsTo(cluster, ports.installation));
  const names = own.map((cluster) => cluster.name);
  if (asked === undefined && own.length !== 1) {
    return { kind: 'refused', message: 'which cluster?', hint: `--cluster ${names.join(' | ')}` };
  }
  const cluster = own.find((each) => asked === undefined || each.name === asked);
  if (cluster === undefined) {
    const message = `the configuration names no cluster ${asked} in this account and region`;
    return { kind: 'refused', message, hint: `it names ${names.join(', ')}` };
  }
  if (cluster.mode === 'observe') {
    const message = `cluster ${cluster.name} is in mode observe: nothing is done to its nodes`;
    return { kind: 'refused', message, hint: 'set its mode to act in the configuration' };
  }
  const { network } = cluster;
  return network === ports.network
    ? cluster
    : { kind: 'elsewhere', network, message: `cluster ${cluster.name} is in network ${network}` };
}

/** The attempt as the router has taken it, with its execution where that has begun by then. */
async function takenBy(
  { sleep }: Pick<RequestPorts, 'sleep'>,
  episodes: Episodes,
  next: { cluster: string; nodeUid: string; episode: number; attempt: number },
): Promise<Episode | undefined> {
  let taken: Episode | undefined;
  for (let tries = 0; tries < patience.tries; tries += 1) {
    const episode = await episodes.get(next.cluster, next.nodeUid);
    const isNext = episode?.episode === next.episode && episode.attempt === next.attempt;
    if (isNext) taken = episode;
    if (taken?.execution !== undefined || taken?.attemptState === 'ended') return taken;
    await sleep(patience.everyMs);
  }
  return taken;
}

async function follow(ports: RequestPorts, request: FollowRequest): Promise<FollowAnswer> {
  const { cluster, nodeUid, episode, attempt } = request;
  const episodes = new Episodes(ports.table, ports.clock);
  const current = await episodes.get(cluster, nodeUid);
  if (current?.episode === episode && current.attempt === attempt) {
    const link = current.execution === undefined ? {} : linkOf(current.execution);
    if (current.outcome !== undefined) return ended(current.outcome, link);
    const step = await stepOf(ports, current.execution);
    return { kind: 'working', ...(step === undefined ? {} : { step }), ...link };
  }
  const attempts = await episodes.attempts(cluster, nodeUid);
  const own = attempts.find((each) => each.episode === episode && each.attempt === attempt);
  if (own !== undefined)
    return ended(own, own.execution === undefined ? {} : linkOf(own.execution));
  const isLater =
    current !== undefined &&
    (current.episode > episode || (current.episode === episode && current.attempt > attempt));
  return isLater
    ? { kind: 'unknown', message: 'a later attempt is on, and nothing is kept of this one' }
    : { kind: 'waiting' };
}

function ended(
  outcome: { code: string; message: string; steps?: string; evidence?: string },
  link: { link?: string },
): FollowAnswer {
  const { code, message, steps, evidence } = outcome;
  return {
    kind: 'ended',
    code,
    message,
    ...(steps === undefined ? {} : { steps }),
    ...(evidence === undefined ? {} : { evidence }),
    ...link,
  };
}

/** A step that cannot be told is left out. */
async function stepOf(
  ports: Pick<RequestPorts, 'workflow' | 'log'>,
  execution: string | undefined,
): Promise<string | undefined> {
  if (execution === undefined) return undefined;
  try {
    return await ports.workflow.stateOf?.(execution);
  } catch (error) {
    const fields = { execution, error: messageOf(error) };
    ports.log.warn('the step of an execution could not be read', fields);
    return undefined;
  }
}

function linkOf(execution: string): { link?: string } {
  const link = executionLink(execution);
  return link === undefined ? {} : { link };
}

function nextOf(before: Episode | undefined): { episode: number; attempt: number } {
  if (before?.state === 'open') return { episode: before.episode, attempt: before.attempt + 1 };
  return { episode: (before?.episode ?? 0) + 1, attempt: 1 };
}

function isRunning(episode: Episode | undefined): episode is Episode {
  return episode?.state === 'open' && episode.attemptState === 'running';
}

function whoAsked({ request, byPerson }: { request?: PersonRequest; byPerson: boolean }): string {
  if (request === undefined) return byPerson ? ', for a person' : '';
  return `, for ${request.by}${request.reason === '' ? '' : ` (${request.reason})`}`;
}

function network({ environment }: CorePorts): string {
  return environment.NETWORK ?? 'public';
}

export const handler = lambdaHandler(
  () => awsPorts({ readers, awsWork, publisher, workflow, network, ...observers }),
  makeHandler,
);
