/** Managed node groups and launch templates, which no object in the cluster shows. */
import { NodegapError } from '../../errors.ts';
import { readUserData } from '../checks/user-data.ts';
import type {
  Found,
  LaunchTemplate,
  PreventionFacts,
  Reading,
  WrittenNodeGroup,
} from '../facts.ts';

/** What AWS is asked. Errors are NodegapErrors. */
export interface NodeGroupReads {
  /** All managed node groups of a cluster. */
  nodeGroups(cluster: string): Promise<WrittenNodeGroup[]>;
  /** Undefined when EC2 gives no such version. `version` is a number, `$Latest` or `$Default`. */
  launchTemplate(id: string, version: string): Promise<LaunchTemplate | undefined>;
  /** The newest version of every launch template of the account, numbered. */
  newestLaunchTemplates(): Promise<LaunchTemplate[]>;
}

/**
 * The facts with the cluster's managed node groups, their launch templates, and those of
 * self-managed nodes, which are told by the cluster that their user data names. What AWS does not
 * answer is not checked, with why; the rest of the audit stands without it.
 */
export async function withNodeGroups(
  facts: PreventionFacts,
  reads: NodeGroupReads,
): Promise<PreventionFacts> {
  const nodeGroups = await reading('eks', () => reads.nodeGroups(facts.cluster));
  if (nodeGroups.kind !== 'read') {
    const { reason } = nodeGroups;
    return { ...facts, nodeGroups, launchTemplates: { kind: 'not-checked', reason } };
  }
  const wanted = new Map(
    nodeGroups.items.flatMap(({ object: { launchTemplate: template } }) =>
      template === undefined ? [] : [[`${template.id}:${template.version}`, template]],
    ),
  );
  const launchTemplates = await reading('ec2', async () => {
    const found: LaunchTemplate[] = [];
    for (const { id, version } of wanted.values()) {
      const template = await reads.launchTemplate(id, version);
      if (template !== undefined) found.push(template);
    }
    const groups = new Set([...wanted.values()].map(({ id }) => id));
    const others = (await reads.newestLaunchTemplates()).filter(
      ({ id, userData }) => !groups.has(id) && readUserData(userData).cluster === facts.cluster,
    );
    return [...found, ...others];
  });
  return { ...facts, nodeGroups, launchTemplates };
}

async function reading<T>(service: string, read: () => Promise<T[]>): Promise<Reading<T>> {
  try {
    const found = await read();
    const items = found.map((object): Found<T> => ({ object, origin: { kind: 'aws', service } }));
    return { kind: 'read', items };
  } catch (error) {
    if (!(error instanceof NodegapError)) throw error;
    return { kind: 'not-checked', reason: error.message };
  }
}
