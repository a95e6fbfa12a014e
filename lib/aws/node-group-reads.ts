/** Managed node groups by EKS, and the user data of launch templates by EC2. */
import { gunzipSync } from 'node:zlib';
import {
  DescribeNodegroupCommand,
  type EKSClient,
  ListNodegroupsCommand,
} from '@aws-sdk/client-eks';
import { messageOf, NodegapError } from '../errors.ts';
import type { Taint } from '../kubernetes/objects.ts';
import type { LaunchTemplate, WrittenNodeGroup } from '../prevention/facts.ts';
import type { NodeGroupReads } from '../prevention/sources/node-groups.ts';
import { child, type Ec2Query, itemsOf, textOf, type XmlValue } from './ec2-query.ts';

/** https://docs.aws.amazon.com/eks/latest/APIReference/API_Taint.html */
const effects: Record<string, string> = {
  NO_SCHEDULE: 'NoSchedule',
  NO_EXECUTE: 'NoExecute',
  PREFER_NO_SCHEDULE: 'PreferNoSchedule',
};

/** EC2 takes 16 KiB of user data; what unpacks to far more was not meant to be read. */
const mostBytes = 1024 * 1024;

/** With 16 KiB of user data each, a page of them takes EC2 a while. */
const templatesPerPage = '100';
/** For one page. */
export const nodeGroupTimeoutMs = 15_000;

/** Errors: NodegapError `Eks.denied`, `Eks.failed`, and those of `createEc2Query`. */
export function createNodeGroupReads(eks: EKSClient, ec2: Ec2Query): NodeGroupReads {
  return {
    async nodeGroups(cluster) {
      const groups: WrittenNodeGroup[] = [];
      for (const name of await namesOf(eks, cluster)) {
        const group = await describe(eks, cluster, name);
        if (group !== undefined) groups.push(group);
      }
      return groups;
    },
    async launchTemplate(id, version) {
      const answer = await ec2('DescribeLaunchTemplateVersions', {
        LaunchTemplateId: id,
        'LaunchTemplateVersion.1': version,
      }).catch((error: unknown) => {
        if (error instanceof NodegapError && error.code === 'Ec2.not-found') return '';
        throw error;
      });
      const [found] = itemsOf(child(answer, 'launchTemplateVersionSet'));
      // The version as the node group says it, by which the two are put together.
      return found === undefined ? undefined : { ...templateOf(found), version };
    },
    async newestLaunchTemplates() {
      const templates: LaunchTemplate[] = [];
      let token = '';
      do {
        const answer = await ec2('DescribeLaunchTemplateVersions', {
          // Without an id: of all templates of the account.
          'LaunchTemplateVersion.1': '$Latest',
          MaxResults: templatesPerPage,
          ...(token === '' ? {} : { NextToken: token }),
        });
        templates.push(...itemsOf(child(answer, 'launchTemplateVersionSet')).map(templateOf));
        token = textOf(child(answer, 'nextToken'));
      } while (token !== '');
      return templates;
    },
  };
}

async function namesOf(eks: EKSClient, cluster: string): Promise<string[]> {
  const names: string[] = [];
  let nextToken: string | undefined;
  do {
    const page = await eks
      .send(
        new ListNodegroupsCommand({
          clusterName: cluster,
          ...(nextToken === undefined ? {} : { nextToken }),
        }),
      )
      .catch((cause: unknown) => {
        throw failureOf(`the node groups of cluster ${cluster} could not be listed`, cause);
      });
    names.push(...(page.nodegroups ?? []));
    nextToken = page.nextToken;
  } while (nextToken !== undefined && nextToken !== '');
  return names.sort();
}

/** Undefined when it went away since it was listed. */
async function describe(
  eks: EKSClient,
  cluster: string,
  name: string,
): Promise<WrittenNodeGroup | undefined> {
  const answer = await eks
    .send(new DescribeNodegroupCommand({ clusterName: cluster, nodegroupName: name }))
    .catch((cause: unknown) => {
      if (cause instanceof Error && cause.name === 'ResourceNotFoundException') return undefined;
      throw failureOf(`node group ${name} of cluster ${cluster} could not be described`, cause);
    });
  if (answer?.nodegroup === undefined) return undefined;
  const { labels = {}, taints = [], launchTemplate } = answer.nodegroup;
  const { id, version } = launchTemplate ?? {};
  return {
    name,
    labels: { ...labels },
    taints: taints.map(({ key = '', value, effect = '' }): Taint => {
      const taint = { key, effect: effects[effect] ?? effect };
      return value === undefined || value === '' ? taint : { ...taint, value };
    }),
    ...(id === undefined || version === undefined ? {} : { launchTemplate: { id, version } }),
  };
}

function failureOf(what: string, cause: unknown): NodegapError {
  const denied = cause instanceof Error && cause.name === 'AccessDeniedException';
  const code = denied ? 'Eks.denied' : 'Eks.failed';
  return new NodegapError(code, `${what}: ${messageOf(cause)}`, { cause });
}

/** https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_LaunchTemplateVersion.html */
function templateOf(found: XmlValue): LaunchTemplate {
  const userData = textOf(child(child(found, 'launchTemplateData'), 'userData'));
  return {
    id: textOf(child(found, 'launchTemplateId')),
    name: textOf(child(found, 'launchTemplateName')),
    version: textOf(child(found, 'versionNumber')),
    ...(userData === '' ? {} : { userData: decoded(userData) }),
  };
}

/** Base64, and packed by gzip where somebody needed more room. */
function decoded(base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes.toString('utf8');
  try {
    return gunzipSync(bytes, { maxOutputLength: mostBytes }).toString('utf8');
  } catch {
    // Whatever it is, no node can start by it: nothing is told from it.
    return '';
  }
}
