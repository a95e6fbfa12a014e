/** DaemonSets whose pods are Ready whatever their program does. */
import { printable } from '../../printable.ts';
import { quoted } from '../../report/shell.ts';
import type { Probe, WrittenContainer } from '../facts.ts';
import { templatePatch } from './change.ts';
import { type AuditContext, type Checked, change, type Finding } from './context.ts';

/** Health endpoints of programs that declare no probe which could be taken over. */
const healthEndpoints: readonly { image: RegExp; probe: Probe }[] = [
  // k8s.io/kubernetes pkg/cluster/ports ProxyHealthzPort; /livez does not fail on a deletion taint.
  { image: /(^|\/)kube-proxy[:@]/, probe: { httpGet: { path: '/livez', port: 10256 } } },
];

export function checkReadiness(context: AuditContext): Checked {
  const findings = context.required.flatMap(({ template, key, subject, object }): Finding[] => {
    const { containers = [], readinessGates = [] } = template;
    if (containers.length === 0 || readinessGates.length > 0) return [];
    if (containers.some(({ readinessProbe }) => readinessProbe !== undefined)) return [];
    const asked = containers.map((container) => ({ container, ...probeFor(container) }));
    const best = asked.find(({ from }) => from !== 'nothing');
    const patch = (name: string, readinessProbe: Probe) =>
      change(
        context,
        subject,
        'DaemonSet',
        templatePatch({ containers: [{ name, readinessProbe }] }),
      );
    return [
      {
        check: 'no-readiness-probe',
        severity: 'warning',
        subject,
        message: `${key} has no readinessProbe`,
        why: 'Its pods are Ready as soon as their processes run, working or not: neither a startup taint nor nodegap sees that the node is without it, and an update of it goes on over broken pods.',
        change:
          best?.probe === undefined
            ? `# Nothing in the template tells how its health can be asked. Add a readinessProbe to container ${printable(containers[0]?.name ?? '')} (kubectl explain daemonset.spec.template.spec.containers.readinessProbe) with the command or endpoint that says that it serves this node:\nkubectl -n ${quoted(object.metadata.namespace ?? 'default')} edit daemonset ${quoted(object.metadata.name)}`
            : `${best.from === 'port' ? '# If the program listens there: try it on one node first.\n' : ''}${patch(best.container.name, best.probe)}`,
      },
    ];
  });
  return { findings, notChecked: [] };
}

/** What can be asked: its liveness endpoint, a known one, or the first TCP port that it declares. */
function probeFor({ livenessProbe, image = '', ports = [] }: WrittenContainer): {
  from: 'liveness' | 'known' | 'port' | 'nothing';
  probe?: Probe;
} {
  if (livenessProbe !== undefined) {
    const { httpGet, exec, tcpSocket, grpc } = livenessProbe;
    const probe = { httpGet, exec, tcpSocket, grpc };
    const given = Object.fromEntries(
      Object.entries(probe).filter(([, value]) => value !== undefined),
    );
    if (Object.keys(given).length > 0) return { from: 'liveness', probe: given };
  }
  const known = healthEndpoints.find((each) => each.image.test(image));
  if (known !== undefined) return { from: 'known', probe: known.probe };
  const port = ports.find(({ protocol = 'TCP' }) => protocol === 'TCP')?.containerPort;
  return port === undefined
    ? { from: 'nothing' }
    : { from: 'port', probe: { tcpSocket: { port } } };
}
