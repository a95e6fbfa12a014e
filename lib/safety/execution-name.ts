import { createHash } from 'node:crypto';
import { NodegapError } from '../errors.ts';

/** Limit of StartExecution. */
const MAX_NAME_LENGTH = 80;

/**
 * The name of the one execution of an attempt, the same whoever computes it: the first 24
 * characters of the cluster's name, 16 hex digits that stand for cluster and node, `eN`, `aM`.
 * Step Functions refuses a name twice within 90 days, which is what makes a repeated start
 * harmless. Characters that it does not allow, or cannot log, become `-`.
 */
export function executionName(input: {
  cluster: string;
  clusterArn: string;
  nodeUid: string;
  episode: number;
  attempt: number;
}): string {
  for (const [field, value] of Object.entries({ episode: input.episode, attempt: input.attempt })) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new NodegapError('BadInput', `${field}: ${value} is not a number from 1 up`);
    }
  }
  const node = hexOf(`${input.clusterArn}\n${input.nodeUid}`);
  const name = `${begin(input.cluster)}-${node}-e${input.episode}-a${input.attempt}`;
  if (name.length > MAX_NAME_LENGTH) {
    throw new NodegapError('BadInput', `execution name ${name} is longer than ${MAX_NAME_LENGTH}`);
  }
  return name;
}

/** The name of the execution of `admit-nodes` with that number, the same whoever computes it. */
export function admissionName(input: {
  cluster: string;
  clusterArn: string;
  number: number;
}): string {
  return `${begin(input.cluster)}-${hexOf(input.clusterArn)}-admit-${input.number}`;
}

function begin(cluster: string): string {
  return cluster.slice(0, 24).replace(/[^0-9A-Za-z_-]/g, '-');
}

function hexOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
