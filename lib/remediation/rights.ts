/**
 * Whether an attempt has the rights for all that it may come to do, asked before its first write:
 * what would fail later for want of a right is not begun.
 *
 * Gotcha: a cluster may refuse the question itself (`system:basic-user` taken away). Then nothing is
 * known and the attempt goes on. That is no reading of the cluster that failed (safety rule 1): no
 * fact about a node is missing, and whatever may not be done the API server refuses when it is asked
 * for. A question that got no answer at all is thrown, and asked again with the task.
 */
import type { Config } from '../config/model.ts';
import type { AccessAnswer, AccessReviewer, AccessRight } from '../kubernetes/access-review.ts';
import type { Judgement } from './judge.ts';
import { irreplaceable, methodFor } from './replaceable.ts';
import { nodeKindOf } from './replacement.ts';
import type { Situation } from './situation.ts';

export type Rights =
  /** As far as is known: `unknown` says of which rights nothing is, and why. */
  | { kind: 'sufficient'; unknown: string | undefined }
  | { kind: 'missing'; code: 'rights-missing'; message: string };

const evict: AccessRight = { verb: 'create', group: '', resource: 'pods', subresource: 'eviction' };
const deletePods: AccessRight = { verb: 'delete', group: '', resource: 'pods' };

/** What an attempt may come to need, by its reach, its ladder and the kind of the node. */
export function rightsFor(
  act: Pick<Extract<Judgement, { kind: 'act' }>, 'reach' | 'ladder' | 'canaryFor'>,
  { node, claim }: Pick<Situation, 'node' | 'claim'>,
  { replacement, drain }: Pick<Config, 'replacement' | 'drain'>,
): AccessRight[] {
  if (node === undefined) return [];
  const patch: AccessRight = {
    verb: 'patch',
    group: '',
    resource: 'nodes',
    name: node.metadata.name,
  };
  if (act.reach === 'isolate') return [patch];
  const isDrained = irreplaceable(node, claim, replacement) === null;
  const mayRestart = act.ladder.restartFirst || act.canaryFor !== undefined;
  if (!isDrained) return mayRestart ? [patch, evict] : [patch];
  const found = claim.kind === 'found' ? claim.claim : undefined;
  const deletesClaim = methodFor(nodeKindOf(node, found), replacement) === 'delete-nodeclaim';
  return [
    patch,
    evict,
    ...(drain.force.pods.length > 0 ? [deletePods] : []),
    ...(deletesClaim && found !== undefined
      ? [
          {
            verb: 'delete',
            group: 'karpenter.sh',
            resource: 'nodeclaims',
            name: found.metadata.name,
          },
        ]
      : []),
  ];
}

/**
 * Asks for all of them at once.
 * @throws KubernetesError when the API server gave no answer.
 */
export async function reviewRights(
  client: AccessReviewer,
  rights: readonly AccessRight[],
): Promise<Rights> {
  const reviewed = await Promise.all(
    rights.map(async (right) => ({ right, answer: await client.reviewAccess(right) })),
  );
  return judgeRights(reviewed);
}

/** What follows from the answers. Pure. */
export function judgeRights(
  reviewed: readonly { right: AccessRight; answer: AccessAnswer }[],
): Rights {
  const denied = reviewed.flatMap(({ right, answer }) =>
    answer.kind === 'denied' ? [{ right, reason: answer.reason }] : [],
  );
  if (denied.length > 0) {
    const names = denied.map(({ right }) => nameOf(right)).join(', ');
    const reasons = [...new Set(denied.map(({ reason }) => reason))].filter((text) => text !== '');
    const why = ['asked before the first write, so nothing was begun', ...reasons].join('; ');
    const option = denied.some(({ right }) => right === deletePods) ? ' --force-drain' : '';
    const message = `not allowed to ${names}: ${why} (apply what \`nodegap rbac${option}\` prints)`;
    return { kind: 'missing', code: 'rights-missing', message };
  }
  const unknown = reviewed.flatMap(({ right, answer }) =>
    answer.kind === 'unknown' ? [{ right, message: answer.message }] : [],
  );
  const [first] = unknown;
  if (first === undefined) return { kind: 'sufficient', unknown: undefined };
  const names = unknown.map(({ right }) => nameOf(right)).join(', ');
  return {
    kind: 'sufficient',
    unknown: `it is not known whether nodegap may ${names}: ${first.message}`,
  };
}

/** As lib/kubernetes/errors.ts names what was refused: `delete nodeclaims.karpenter.sh`. */
function nameOf({ verb, group, resource, subresource }: AccessRight): string {
  const target = subresource === undefined ? resource : `${resource}/${subresource}`;
  return `${verb} ${target}${group === '' ? '' : `.${group}`}`;
}
