/**
 * How managed node groups and self-managed nodes get startup taints: what to write where, since no
 * object of the cluster attaches them.
 *
 * Why user data for a node group that exists: EKS puts a taint that is added to the group on its
 * running nodes at once (cilium/cilium#17103), where NoExecute throws their workload out and a CSI
 * driver that is up already takes nothing off. What is taken off a node EKS does not put back.
 */
import { stringify } from 'yaml';
import type { Pool } from '../checks/pools.ts';
import type { LaunchTemplate, PreventionFacts } from '../facts.ts';
import type { WantedTaint } from './wanted.ts';

export interface PoolRecipe {
  kind: 'NodeGroup' | 'LaunchTemplate';
  name: string;
  taints: readonly WantedTaint[];
  /** Which way fits, and why. */
  advice: string[];
  /** What to write, by where. */
  steps: { title: string; text: string }[];
}

export type NodeSystem = 'al2023' | 'al2' | 'bottlerocket';

export function poolRecipe(
  pool: Pool,
  taints: readonly WantedTaint[],
  facts: PreventionFacts,
): PoolRecipe {
  const { name } = pool.subject;
  const template = templateOf(pool, facts);
  const system = systemOf(template?.userData);
  const userData = {
    title: `user data (${systemTitles[system]})`,
    text: userDataFor(system, taints),
  };
  if (pool.nodeGroup === undefined) {
    return {
      kind: 'LaunchTemplate',
      name,
      taints,
      advice: [
        'write it into a new version of the launch template; nodes that run stay as they are',
        'keep what the user data holds: a list of taints that is there is made longer, not written twice',
      ],
      steps: [userData],
    };
  }
  const used = template?.name ?? pool.nodeGroup.object.launchTemplate?.id;
  const templateAdvice =
    used === undefined
      ? 'the node group has no launch template: give a new node group these taints by the EKS API, or a launch template with the user data'
      : `write the user data into a new version of launch template ${used}, beside what it holds, then move the node group to it: that replaces its nodes, under the budgets of its update`;
  return {
    kind: 'NodeGroup',
    name,
    taints,
    advice: [
      templateAdvice,
      'taints of the EKS API fit a new node group: on one that runs they are put on its nodes at once, NoExecute would throw their workload out, and an agent that is up already may not take its taint off again',
      'EKS does not put a taint back that was taken off a node',
      `with Cluster Autoscaler, which would take the taints for permanent: ${taints.map(({ key }) => `--startup-taint=${key}`).join(' ')}`,
    ],
    steps: [
      userData,
      {
        title: 'EKS API, when the node group is created',
        text: createCommand(facts, name, taints),
      },
      { title: 'CloudFormation, AWS::EKS::Nodegroup', text: cloudFormation(taints) },
    ],
  };
}

const systemTitles: Record<NodeSystem, string> = {
  al2023: 'Amazon Linux 2023: nodeadm',
  al2: 'Amazon Linux 2: bootstrap.sh',
  bottlerocket: 'Bottlerocket',
};

function templateOf(
  { nodeGroup, subject }: Pool,
  { launchTemplates }: PreventionFacts,
): LaunchTemplate | undefined {
  if (launchTemplates.kind !== 'read') return undefined;
  const used = nodeGroup?.object.launchTemplate;
  return launchTemplates.items.find(({ object }) =>
    nodeGroup === undefined
      ? object.name === subject.name || object.id === subject.name
      : object.id === used?.id && object.version === used.version,
  )?.object;
}

/** What the user data is written for; Amazon Linux 2023 where nothing tells. */
export function systemOf(userData = ''): NodeSystem {
  if (/^\s*\[?settings\./m.test(userData)) return 'bottlerocket';
  return /\/etc\/eks\/bootstrap\.sh/.test(userData) ? 'al2' : 'al2023';
}

/** User data by which the kubelet registers its node with the taints. */
export function userDataFor(system: NodeSystem, taints: readonly WantedTaint[]): string {
  switch (system) {
    case 'al2023':
      return nodeConfig(taints);
    case 'al2':
      return `/etc/eks/bootstrap.sh CLUSTER --kubelet-extra-args '${kubeletFlag(taints)}'\n`;
    case 'bottlerocket':
      return bottlerocket(taints);
  }
}

/** The flag of a kubelet, `--register-with-taints=key=value:effect,…`; a value may be empty. */
export function kubeletFlag(taints: readonly WantedTaint[]): string {
  const list = taints.map(({ key, effect }) => `${key}=:${effect}`).join(',');
  return `--register-with-taints=${list}`;
}

function nodeConfig(taints: readonly WantedTaint[]): string {
  const config = stringify({
    apiVersion: 'node.eks.aws/v1alpha1',
    kind: 'NodeConfig',
    spec: {
      kubelet: {
        config: { registerWithTaints: taints.map(({ key, effect }) => ({ key, effect })) },
      },
    },
  });
  return [
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="STARTUP"',
    '',
    '--STARTUP',
    'Content-Type: application/node.eks.aws',
    '',
    `${config.trimEnd()}`,
    '--STARTUP--',
    '',
  ].join('\n');
}

function bottlerocket(taints: readonly WantedTaint[]): string {
  // Bottlerocket wants `value:effect`; any value will do, as all is tolerated by key.
  const lines = taints.map(({ key, effect }) => `"${key}" = "true:${effect}"`);
  return ['[settings.kubernetes.node-taints]', ...lines, ''].join('\n');
}

/** EKS writes effects its own way (eks API Taint). */
function eksTaints(taints: readonly WantedTaint[]) {
  const effects = { NoSchedule: 'NO_SCHEDULE', NoExecute: 'NO_EXECUTE' } as const;
  return taints.map(({ key, effect }) => ({ key, effect: effects[effect] }));
}

function createCommand(
  { cluster }: PreventionFacts,
  name: string,
  taints: readonly WantedTaint[],
): string {
  const list = eksTaints(taints).map(({ key, effect }) => `key=${key},effect=${effect}`);
  return [
    `aws eks create-nodegroup --cluster-name ${clusterName(cluster)} --nodegroup-name ${name}-gated \\`,
    `  --taints ${list.join(' ')} \\`,
    '  --subnets … --node-role …',
    '',
  ].join('\n');
}

/** Of the ARN that `aws eks update-kubeconfig` makes of it. */
function clusterName(cluster: string): string {
  return cluster.slice(cluster.lastIndexOf('/') + 1);
}

function cloudFormation(taints: readonly WantedTaint[]): string {
  const list = eksTaints(taints).map(({ key, effect }) => ({ Key: key, Effect: effect }));
  return stringify({ Properties: { Taints: list } });
}
