/** Priority of required DaemonSets: who gives way on a full node. */
import { templatePatch } from './change.ts';
import { type AuditContext, type Checked, change, type RequiredDaemonSet } from './context.ts';

/** Classes that every cluster has, above any that a user can make (1,000,000,000 at most). */
const systemClasses = new Set(['system-node-critical', 'system-cluster-critical']);

export function checkPriority(context: AuditContext): Checked {
  const checked: Checked = { findings: [], notChecked: [] };
  for (const required of context.required) checkOne(context, required, checked);
  return checked;
}

function checkOne(context: AuditContext, required: RequiredDaemonSet, checked: Checked): void {
  const { template, subject, key } = required;
  const { priorityClassName = '' } = template;
  if (systemClasses.has(priorityClassName)) return;
  const raise = change(
    context,
    subject,
    'DaemonSet',
    templatePatch({
      priorityClassName: 'system-node-critical',
      // A number that is written out has to fit its class.
      ...(template.priority === undefined ? {} : { priority: null }),
    }),
  );
  if (priorityClassName === '') {
    checked.findings.push({
      check: 'priority-class-missing',
      severity: 'warning',
      subject,
      message: `${key} has no priorityClassName`,
      why: 'On a full node it waits behind workload instead of taking its place, and under pressure the kubelet evicts it like any other pod.',
      change: raise,
    });
    return;
  }
  const { priorityClasses } = context.facts;
  if (priorityClasses.kind !== 'read') {
    const reason = `PriorityClass ${priorityClassName} of ${key}: ${priorityClasses.reason}`;
    checked.notChecked.push({ check: 'priority-class-unknown', reason });
    checked.notChecked.push({ check: 'priority-class-low', reason });
    return;
  }
  const classes = priorityClasses.items.map(({ object }) => object);
  const own = classes.find(({ metadata }) => metadata.name === priorityClassName);
  if (own === undefined) {
    if (context.facts.source === 'manifests') {
      const reason = `PriorityClass ${priorityClassName} of ${key} is not among the manifests`;
      checked.notChecked.push({ check: 'priority-class-unknown', reason });
      checked.notChecked.push({ check: 'priority-class-low', reason });
      return;
    }
    checked.findings.push({
      check: 'priority-class-unknown',
      severity: 'error',
      subject,
      message: `${key} names PriorityClass ${priorityClassName}, which does not exist`,
      why: 'The API server refuses every new pod of it, so that each new node stays without it.',
      change: raise,
    });
    return;
  }
  const above = classes
    .filter(({ metadata, value }) => value > own.value && !systemClasses.has(metadata.name))
    .sort((a, b) => b.value - a.value)[0];
  if (above === undefined && own.value > 0) return;
  checked.findings.push({
    check: 'priority-class-low',
    severity: 'warning',
    subject,
    message:
      above === undefined
        ? `${key} has PriorityClass ${priorityClassName} of value ${own.value}, which is no more than that of pods without a class`
        : `${key} has PriorityClass ${priorityClassName} of value ${own.value}, below ${above.metadata.name} of value ${above.value}`,
    why: 'On a full node workload of the higher class takes its place, and it cannot take theirs.',
    change: raise,
  });
}
