/**
 * The pools that make nodes, with the taints that their nodes are born with: who attaches what.
 *
 * How it works: a NodePool attaches its `startupTaints` and `taints`, and what the user data of its
 * node class registers; a managed node group its taints and what its launch template registers; a
 * launch template of no known node group stands for self-managed nodes.
 */
import type { Node, Taint } from '../../kubernetes/objects.ts';
import type {
  Found,
  LaunchTemplate,
  NodeClass,
  NodePool,
  PreventionFacts,
  WrittenNodeGroup,
} from '../facts.ts';
import type { AuditSubject } from '../findings.ts';
import { type RegisteredByUserData, readUserData } from './user-data.ts';

/** Who puts a taint on new nodes, and what for, as the attacher itself understands it. */
export interface Attachment {
  taint: Taint;
  /** `startup` and `permanent` by the field of a NodePool, `registered` by the kubelet or EKS. */
  way: 'startup' | 'permanent' | 'registered';
  /** The object in which it is written. */
  subject: AuditSubject;
}

/** Possible values of a label; `undefined` among them: nodes may lack it. */
export type LabelDomain = readonly (string | undefined)[];

export interface Pool {
  kind: 'node-pool' | 'node-group' | 'launch-template';
  subject: AuditSubject;
  attachments: Attachment[];
  /** Labels of which all values are known. Any other label may have any value. */
  labels: ReadonlyMap<string, LabelDomain>;
  /** Nodes that it has made, as far as nodes were read. */
  nodes: Node[];
  /** Why not all that it attaches is known. */
  unread?: string;
  nodePool?: Found<NodePool>;
  nodeGroup?: Found<WrittenNodeGroup>;
}

const computeType = 'eks.amazonaws.com/compute-type';
const nodePoolLabel = 'karpenter.sh/nodepool';
const nodeGroupLabel = 'eks.amazonaws.com/nodegroup';
const osLabel = 'kubernetes.io/os';

/** All pools that could be read. */
export function poolsOf(facts: PreventionFacts, nodes: readonly Node[]): Pool[] {
  return [...nodePools(facts, nodes), ...nodeGroups(facts, nodes), ...looseTemplates(facts)];
}

/** Kinds of attachers that could not be read, each with why. */
export function unreadAttachers(facts: PreventionFacts): string[] {
  const kinds = ['nodePools', 'nodeClasses', 'nodeGroups', 'launchTemplates'] as const;
  return kinds.flatMap((kind) => {
    const reading = facts[kind];
    return reading.kind === 'read' ? [] : [reading.reason];
  });
}

function nodePools(facts: PreventionFacts, nodes: readonly Node[]): Pool[] {
  if (facts.nodePools.kind !== 'read') return [];
  return facts.nodePools.items.map((found): Pool => {
    const { name } = found.object.metadata;
    const subject: AuditSubject = { kind: 'NodePool', name, origin: found.origin };
    const { spec } = found.object.spec.template;
    const nodeClass = classOf(facts, found.object);
    const userData =
      nodeClass === undefined ? undefined : readUserData(nodeClass.object.spec.userData);
    const unread = nodePoolUnread(facts, found.object, nodeClass, userData);
    return {
      kind: 'node-pool',
      subject,
      attachments: [
        ...attach(spec.startupTaints, 'startup', subject),
        ...attach(spec.taints, 'permanent', subject),
        ...(nodeClass === undefined
          ? []
          : attach(userData?.taints, 'registered', {
              kind: nodeClass.object.kind,
              name: nodeClass.object.metadata.name,
              origin: nodeClass.origin,
            })),
      ],
      labels: nodePoolLabels(found.object, nodeClass?.object, userData?.labels ?? {}),
      nodes: nodes.filter(({ metadata }) => metadata.labels?.[nodePoolLabel] === name),
      ...(unread === undefined ? {} : { unread }),
      nodePool: found,
    };
  });
}

function nodePoolUnread(
  facts: PreventionFacts,
  nodePool: NodePool,
  nodeClass: Found<NodeClass> | undefined,
  userData: RegisteredByUserData | undefined,
): string | undefined {
  const { nodeClassRef } = nodePool.spec.template.spec;
  const { kind = 'EC2NodeClass', name } = nodeClassRef ?? {};
  // Those of Auto Mode, and of other providers, have no user data that registers taints.
  if (kind !== 'EC2NodeClass') return undefined;
  if (facts.nodeClasses.kind !== 'read') return facts.nodeClasses.reason;
  if (nodeClass === undefined && name !== undefined) {
    return `${kind} ${name} of NodePool ${nodePool.metadata.name} is not among what was read`;
  }
  return userData?.unread === true
    ? `user data of ${nodeClass?.object.kind} ${nodeClass?.object.metadata.name} registers taints that are only known at boot`
    : undefined;
}

function classOf(facts: PreventionFacts, nodePool: NodePool): Found<NodeClass> | undefined {
  if (facts.nodeClasses.kind !== 'read') return undefined;
  const { kind, name } = nodePool.spec.template.spec.nodeClassRef ?? {};
  return facts.nodeClasses.items.find(
    ({ object }) => object.metadata.name === name && (kind === undefined || object.kind === kind),
  );
}

function nodePoolLabels(
  { metadata, spec: { template } }: NodePool,
  nodeClass: NodeClass | undefined,
  registered: Record<string, string>,
): Map<string, LabelDomain> {
  const { requirements = [], nodeClassRef } = template.spec;
  const autoMode = nodeClassRef?.group === 'eks.amazonaws.com';
  const labels = new Map<string, LabelDomain>([
    [osLabel, [osOf(nodeClass)]],
    ['kubernetes.io/arch', ['amd64', 'arm64']],
    [computeType, autoMode ? ['auto'] : [undefined]],
    [nodeGroupLabel, [undefined]],
    ...known(registered),
    ...known(template.metadata?.labels ?? {}),
  ]);
  for (const { key, operator, values = [] } of requirements) {
    const before = labels.get(key);
    if (operator === 'In') {
      const both = before?.filter((value) => value !== undefined && values.includes(value));
      labels.set(key, both !== undefined && both.length > 0 ? both : values);
    }
    if (operator === 'NotIn' && before !== undefined) {
      labels.set(
        key,
        before.filter((value) => value === undefined || !values.includes(value)),
      );
    }
    if (operator === 'DoesNotExist') labels.set(key, [undefined]);
  }
  labels.set(nodePoolLabel, [metadata.name]);
  return labels;
}

function osOf(nodeClass: NodeClass | undefined): string {
  const { amiFamily = '', amiSelectorTerms = [] } = nodeClass?.spec ?? {};
  const names = [amiFamily, ...amiSelectorTerms.map(({ alias = '' }) => alias)];
  return names.some((name) => /^windows/i.test(name)) ? 'windows' : 'linux';
}

function nodeGroups(facts: PreventionFacts, nodes: readonly Node[]): Pool[] {
  if (facts.nodeGroups.kind !== 'read') return [];
  return facts.nodeGroups.items.map((found): Pool => {
    const { name, labels, taints, launchTemplate } = found.object;
    const subject: AuditSubject = { kind: 'NodeGroup', name, origin: found.origin };
    const own = nodes.filter(({ metadata }) => metadata.labels?.[nodeGroupLabel] === name);
    const template = launchTemplate === undefined ? undefined : templateOf(facts, launchTemplate);
    const userData = readUserData(template?.object.userData);
    const unread = nodeGroupUnread(facts, found.object, template, userData);
    const systems = [...new Set(own.map(({ metadata }) => metadata.labels?.[osLabel] ?? 'linux'))];
    return {
      kind: 'node-group',
      subject,
      attachments: [
        ...attach(taints, 'registered', subject),
        ...(template === undefined
          ? []
          : attach(userData.taints, 'registered', templateSubject(template))),
      ],
      labels: new Map<string, LabelDomain>([
        [osLabel, systems.length === 0 ? ['linux'] : systems],
        ['kubernetes.io/arch', ['amd64', 'arm64']],
        [computeType, [undefined, 'ec2']],
        [nodePoolLabel, [undefined]],
        ...known(userData.labels),
        ...known(labels),
        [nodeGroupLabel, [name]],
      ]),
      nodes: own,
      ...(unread === undefined ? {} : { unread }),
      nodeGroup: found,
    };
  });
}

function nodeGroupUnread(
  facts: PreventionFacts,
  { name, launchTemplate }: WrittenNodeGroup,
  template: Found<LaunchTemplate> | undefined,
  userData: RegisteredByUserData,
): string | undefined {
  if (launchTemplate === undefined) return undefined;
  if (facts.launchTemplates.kind !== 'read') return facts.launchTemplates.reason;
  if (template === undefined) {
    return `launch template ${launchTemplate.id}, version ${launchTemplate.version}, of node group ${name} is not among what was read`;
  }
  return userData.unread
    ? `user data of launch template ${template.object.name} registers taints that are only known at boot`
    : undefined;
}

function templateOf(
  facts: PreventionFacts,
  { id, version }: { id: string; version: string },
): Found<LaunchTemplate> | undefined {
  if (facts.launchTemplates.kind !== 'read') return undefined;
  return facts.launchTemplates.items.find(
    ({ object }) => object.id === id && object.version === version,
  );
}

/** Launch templates that EKS and Karpenter make for themselves. */
const madeByOthers = /^(eks-[0-9a-f]{8}-|karpenter)/i;

/**
 * Launch templates of self-managed nodes: those that bootstrap a node of this cluster and belong to
 * no group, in their newest version.
 */
function looseTemplates(facts: PreventionFacts): Pool[] {
  if (facts.launchTemplates.kind !== 'read') return [];
  const { nodeGroups, launchTemplates, cluster } = facts;
  const taken = new Set(
    nodeGroups.kind === 'read'
      ? nodeGroups.items.map(({ object }) => object.launchTemplate?.id)
      : [],
  );
  const newest = new Map<string, Found<LaunchTemplate>>();
  for (const found of launchTemplates.items) {
    const before = newest.get(found.object.id)?.object.version;
    if (before === undefined || Number(before) < Number(found.object.version)) {
      newest.set(found.object.id, found);
    }
  }
  return [...newest.values()].flatMap((found): Pool[] => {
    const { id, name } = found.object;
    const userData = readUserData(found.object.userData);
    if (taken.has(id) || madeByOthers.test(name) || !userData.bootstraps) return [];
    const elsewhere = userData.cluster !== undefined && userData.cluster !== cluster;
    if (elsewhere && cluster !== '') return [];
    const subject = templateSubject(found);
    const unread = looseUnread(facts, name, userData);
    return [
      {
        kind: 'launch-template',
        subject,
        attachments: attach(userData.taints, 'registered', subject),
        labels: new Map<string, LabelDomain>([
          [osLabel, ['linux']],
          ['kubernetes.io/arch', ['amd64', 'arm64']],
          [computeType, [undefined]],
          [nodePoolLabel, [undefined]],
          ...known(userData.labels),
        ]),
        nodes: [],
        ...(unread === undefined ? {} : { unread }),
      },
    ];
  });
}

function looseUnread(
  { nodeGroups }: PreventionFacts,
  name: string,
  userData: RegisteredByUserData,
): string | undefined {
  // It may belong to a group, which has taints of its own.
  if (nodeGroups.kind !== 'read') return nodeGroups.reason;
  return userData.unread
    ? `user data of launch template ${name} registers taints that are only known at boot`
    : undefined;
}

function templateSubject({ object, origin }: Found<LaunchTemplate>): AuditSubject {
  return { kind: 'LaunchTemplate', name: object.name, origin };
}

function attach(
  taints: readonly Taint[] | undefined,
  way: Attachment['way'],
  subject: AuditSubject,
): Attachment[] {
  return (taints ?? []).map((taint) => ({ taint, way, subject }));
}

function known(labels: Record<string, string>): [string, LabelDomain][] {
  return Object.entries(labels).map(([key, value]) => [key, [value]]);
}
