/** Ports of the node that pods take for themselves. */
import type { PodSpec } from '../../kubernetes/objects.ts';
import { templatePatch } from './change.ts';
import {
  type AuditContext,
  type Checked,
  change,
  type Finding,
  listed,
  type RequiredDaemonSet,
} from './context.ts';
import { poolSelection } from './pool-selection.ts';

export interface HostPort {
  port: number;
  containerPort: number;
  protocol: string;
  /** `0.0.0.0` is every address. */
  ip: string;
  container: string;
}

/**
 * Host ports of all containers that run at the same time. With hostNetwork the API server makes
 * every containerPort one (k8s.io/kubernetes pkg/apis/core/v1 SetDefaults_Pod), also where a
 * manifest does not say so.
 */
export function hostPortsOf(template: PodSpec): HostPort[] {
  const sidecars = (template.initContainers ?? []).filter(
    ({ restartPolicy }) => restartPolicy === 'Always',
  );
  return [...(template.containers ?? []), ...sidecars].flatMap(({ name, ports = [] }) =>
    ports.flatMap(({ hostPort = 0, containerPort = 0, protocol = 'TCP', hostIP = '' }) => {
      const port = hostPort === 0 && template.hostNetwork === true ? containerPort : hostPort;
      const ip = hostIP === '' ? '0.0.0.0' : hostIP;
      return port === 0 ? [] : [{ port, containerPort, protocol, ip, container: name }];
    }),
  );
}

/** A port as text: `9100/TCP`. */
export function portText({ port, protocol }: HostPort): string {
  return `${port}/${protocol}`;
}

/** Two required DaemonSets that want the same port of the same node. */
export function checkHostPorts(context: AuditContext): Checked {
  const checked: Checked = { findings: [], notChecked: [] };
  const holders = context.required
    .map((required) => ({ required, ports: hostPortsOf(required.template) }))
    .filter(({ ports }) => ports.length > 0);
  for (const [index, first] of holders.entries()) {
    for (const second of holders.slice(index + 1)) {
      // The same object for another environment of the repository: they never meet.
      if (first.required.key === second.required.key) continue;
      const clashes = second.ports.filter((port) => first.ports.some((one) => clash(one, port)));
      if (clashes.length === 0) continue;
      const where = meetingPlace(context, first.required, second.required);
      const names = `${first.required.key} and ${second.required.key}`;
      const ports = listed([...new Set(clashes.map(portText))]);
      if (where === 'nowhere') continue;
      if (where === 'unknown') {
        const reason = `${names} both take host port ${ports}, and no node or pool was read that tells whether they meet`;
        checked.notChecked.push({ check: 'host-port-clash', reason });
        continue;
      }
      checked.findings.push({
        check: 'host-port-clash',
        severity: 'error',
        subject: second.required.subject,
        message: `${names} both take host port ${ports} on ${where}`,
        why: 'A port of a node can be had once: whichever pod comes second stays Pending there.',
        change: otherPort(context, second, first, clashes),
      });
    }
  }
  return checked;
}

interface Holder {
  required: RequiredDaemonSet;
  ports: HostPort[];
}

/** Another host port for one of them; a program on the host's own network has to be told itself. */
function otherPort(
  context: AuditContext,
  second: Holder,
  first: Holder,
  clashes: readonly HostPort[],
): string {
  const moved = [second, first].find(({ required }) => required.template.hostNetwork !== true);
  if (moved === undefined) {
    return `Both are on the network of the host, where the program itself takes the port: set another one in the configuration of ${second.required.key}, and as its containerPort.`;
  }
  const taken = new Set([...first.ports, ...second.ports].map(({ port }) => port));
  const containers = new Map<string, Record<string, unknown>[]>();
  for (const { port, protocol } of clashes) {
    const own = moved.ports.find((each) => each.port === port && each.protocol === protocol);
    if (own === undefined) continue;
    let free = port + 1;
    while (taken.has(free)) free += 1;
    taken.add(free);
    const ports = containers.get(own.container) ?? [];
    ports.push({ containerPort: own.containerPort, protocol, hostPort: free });
    containers.set(own.container, ports);
  }
  const list = [...containers].map(([name, ports]) => ({ name, ports }));
  return change(context, moved.required.subject, 'DaemonSet', templatePatch({ containers: list }));
}

/** k8s.io/kubernetes pkg/scheduler/framework HostPortInfo.CheckConflict. */
function clash(one: HostPort, other: HostPort): boolean {
  if (one.port !== other.port || one.protocol !== other.protocol) return false;
  return one.ip === other.ip || one.ip === '0.0.0.0' || other.ip === '0.0.0.0';
}

function meetingPlace(
  { nodes = [], pools }: AuditContext,
  first: RequiredDaemonSet,
  second: RequiredDaemonSet,
): string {
  const both = [first, second];
  const node = nodes.find((each) =>
    both.every(({ compiled }) => compiled.selection(each) === undefined),
  );
  if (node !== undefined) return `node ${node.metadata.name}`;
  const answers = pools.map((pool) => ({
    pool,
    selected: both.map(({ template }) => poolSelection(pool, template)),
  }));
  const meeting = answers.find(({ selected }) => selected.every((each) => each === 'yes'));
  if (meeting !== undefined)
    return `nodes of ${meeting.pool.subject.kind} ${meeting.pool.subject.name}`;
  if (nodes.length > 0) return 'nowhere';
  const apart = answers.every(({ selected }) => selected.includes('no'));
  return answers.length > 0 && apart ? 'nowhere' : 'unknown';
}

/** maxSurge wants two pods on one node, which a host port forbids. */
export function checkSurge(context: AuditContext): Checked {
  const findings = context.required.flatMap((required): Finding[] => {
    const { updateStrategy } = required.object.spec;
    const surge = updateStrategy?.rollingUpdate?.maxSurge ?? 0;
    const ports = hostPortsOf(required.template);
    const isSurging = surge !== 0 && surge !== '0' && surge !== '0%';
    if (updateStrategy?.type === 'OnDelete' || !isSurging || ports.length === 0) return [];
    return [
      {
        check: 'surge-with-host-port',
        severity: 'error',
        subject: required.subject,
        message: `${required.key} has maxSurge ${surge} and takes host port ${listed([...new Set(ports.map(portText))])}`,
        why: 'An update puts the new pod beside the old one, where its port is taken: it can never be placed, and the update never gets anywhere.',
        change: change(context, required.subject, 'DaemonSet', {
          spec: {
            updateStrategy: {
              type: 'RollingUpdate',
              rollingUpdate: { maxSurge: 0, maxUnavailable: 1 },
            },
          },
        }),
      },
    ];
  });
  return { findings, notChecked: [] };
}
