/** Limits against what the containers use now. */
import { quantityOf } from '../../gap/room.ts';
import { templatePatch } from './change.ts';
import { type AuditContext, type Checked, change, type RequiredDaemonSet } from './context.ts';

/** A new limit leaves half as much again as was used. */
const headroom = 1.5;
const mebibyte = 2 ** 20;

interface Peak {
  memoryBytes: number;
  cpuCores: number;
  /** Where the most memory, and the most CPU, was used. */
  memoryNode: string;
  cpuNode: string;
}

export function checkLimits(context: AuditContext): Checked {
  const checked: Checked = { findings: [], notChecked: [] };
  const { usage } = context.facts;
  for (const required of context.required) {
    const limited = (required.template.containers ?? []).filter(
      ({ resources }) =>
        resources?.limits?.memory !== undefined || resources?.limits?.cpu !== undefined,
    );
    if (limited.length === 0) continue;
    if (usage.kind !== 'read') {
      const reason = `limits of ${required.key}: ${usage.reason}`;
      checked.notChecked.push({ check: 'limit-at-or-below-use', reason });
      continue;
    }
    const peaks = peaksOf(context, required);
    if (peaks.size === 0) {
      const reason = `limits of ${required.key}: no use of its pods was read`;
      checked.notChecked.push({ check: 'limit-at-or-below-use', reason });
    }
    for (const { name, resources } of limited) {
      const peak = peaks.get(name);
      if (peak === undefined) continue;
      checkMemory(context, required, name, resources?.limits?.memory, peak, checked);
      checkCpu(context, required, name, resources?.limits?.cpu, peak, checked);
    }
  }
  return checked;
}

function peaksOf({ facts }: AuditContext, { key }: RequiredDaemonSet): Map<string, Peak> {
  const peaks = new Map<string, Peak>();
  if (facts.usage.kind !== 'read') return peaks;
  for (const { object } of facts.usage.items) {
    if (object.daemonSet !== key) continue;
    for (const { name, memoryBytes, cpuCores } of object.containers) {
      const peak = peaks.get(name) ?? {
        memoryBytes: -1,
        cpuCores: -1,
        memoryNode: '',
        cpuNode: '',
      };
      if (memoryBytes > peak.memoryBytes) {
        peak.memoryBytes = memoryBytes;
        peak.memoryNode = object.node;
      }
      if (cpuCores > peak.cpuCores) {
        peak.cpuCores = cpuCores;
        peak.cpuNode = object.node;
      }
      peaks.set(name, peak);
    }
  }
  return peaks;
}

function checkMemory(
  context: AuditContext,
  { key, subject }: RequiredDaemonSet,
  container: string,
  limit: string | undefined,
  { memoryBytes, memoryNode }: Peak,
  checked: Checked,
): void {
  const allowed = quantityOf(limit);
  if (limit === undefined || allowed === undefined || allowed > memoryBytes) return;
  const memory = `${Math.ceil((memoryBytes * headroom) / mebibyte)}Mi`;
  checked.findings.push({
    check: 'limit-at-or-below-use',
    severity: 'error',
    subject,
    message: `Container ${container} of ${key} may use ${limit} of memory and uses ${Math.round(memoryBytes / mebibyte)}Mi on ${memoryNode}`,
    why: 'It is killed for memory (OOMKilled) on nodes that give it as much to do, again and again.',
    change: change(context, subject, 'DaemonSet', limitPatch(container, { memory })),
  });
}

function checkCpu(
  context: AuditContext,
  { key, subject }: RequiredDaemonSet,
  container: string,
  limit: string | undefined,
  { cpuCores, cpuNode }: Peak,
  checked: Checked,
): void {
  const allowed = quantityOf(limit);
  if (limit === undefined || allowed === undefined || allowed > cpuCores) return;
  const cpu = `${Math.ceil(cpuCores * headroom * 1000)}m`;
  checked.findings.push({
    check: 'limit-at-or-below-use',
    severity: 'warning',
    subject,
    message: `Container ${container} of ${key} may use ${limit} CPU and uses ${Math.round(cpuCores * 1000)}m on ${cpuNode}`,
    why: 'It is throttled: probes time out, and busy nodes lose it first.',
    change: change(context, subject, 'DaemonSet', limitPatch(container, { cpu })),
  });
}

function limitPatch(name: string, limits: Record<string, string>): Record<string, unknown> {
  return templatePatch({ containers: [{ name, resources: { limits } }] });
}
