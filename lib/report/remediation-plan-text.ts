/** The plan of `nodegap remediate --dry-run` for people. */
import { parseTime } from '../clock.ts';
import { printable } from '../printable.ts';
import { ageText } from './age.ts';
import { fold } from './fold.ts';
import { planArrow } from './plan.ts';
import type { PlannedPods } from './planned-pods.ts';
import type { PlannedFault, RemediationPlan } from './remediation-plan.ts';
import type { Paint, Style } from './style.ts';
import { plural } from './words.ts';

export interface PlanTextOptions {
  style: Style;
  /** Text is folded at this many characters; not at all when absent. */
  width: number | undefined;
  /** The command line that would carry the plan out. */
  command: string;
}

const labelWidth = 15;
const plain: Paint = (text) => text;

/** Ends in a newline. */
export function remediationPlanText(plan: RemediationPlan, options: PlanTextOptions): string {
  const blocks = [
    headBlock(plan, options),
    factsBlock(plan, options),
    stepsBlock(plan, options),
    podsBlock(plan, options),
    endBlock(plan, options),
  ].filter((lines) => lines.length > 0);
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function headBlock(plan: RemediationPlan, options: PlanTextOptions): string[] {
  const { style } = options;
  const created = parseTime(plan.createdAt);
  const now = parseTime(plan.now) ?? 0;
  const place = [
    plan.ready ? 'Ready' : 'not Ready',
    ...(created === undefined ? [] : [`${ageText(now - created)} old`]),
    `pool ${plan.pool ?? 'none'}`,
    `zone ${plan.zone ?? 'none'}`,
    plan.kind === 'unknown' ? 'kind unknown' : plan.kind,
    ...(plan.claim === undefined ? [] : [`NodeClaim ${plan.claim}`]),
  ].join(' · ');
  return [
    `${style.bold(printable(`node ${plan.node}`))}${style.dim(` in ${printable(plan.cluster)}`)}`,
    ...indented(place, 2, options),
    '',
    ...verdictLines(plan, options),
  ];
}

function verdictLines(plan: RemediationPlan, options: PlanTextOptions): string[] {
  const { style } = options;
  const arrow = planArrow(plan.steps);
  const bold = (text: string) => indented(text, 0, options, style.bold);
  const below = (text: string) => indented(text, 2, options);
  const sentence = `${plan.message} (${plan.code}, at ${plan.stoppedAt})`;
  if (plan.stoppedAt === undefined) return bold(`would be done: ${arrow}`);
  if (plan.waits === true) {
    const first = `not at once: ${plan.message} (${plan.code}); remediate waits for that`;
    return [...bold(`would be done: ${arrow}`), ...below(first)];
  }
  return [
    ...bold(`nothing would be done: ${sentence}`),
    ...(plan.retryAt === undefined ? [] : below(`not before ${plan.retryAt}`)),
    ...(arrow === '' ? [] : below(`otherwise: ${arrow}`)),
  ];
}

function factsBlock(plan: RemediationPlan, options: PlanTextOptions): string[] {
  const { pool, cluster, hour } = plan.caps;
  const places = [
    ...(pool === undefined ? [] : [`${pool.taken} of ${pool.limit} in the pool`]),
    `${cluster.taken} of ${cluster.limit} in the cluster`,
  ].join(', ');
  return [
    ...plan.faults.flatMap((fault) => faultLines(fault, plan, options)),
    ...(plan.isolated === undefined ? [] : isolatedLines(plan.isolated, options)),
    ...plan.breaker.flatMap(({ scope, text }, index) =>
      labelled(index === 0 ? 'breaker' : '', `${scope}: ${text}`, options),
    ),
    ...labelled('places', `nodes in work: ${places}`, options),
    ...labelled('', `replacements within the last hour: ${hour.taken} of ${hour.limit}`, options),
  ];
}

function faultLines(
  fault: PlannedFault,
  { now }: RemediationPlan,
  options: PlanTextOptions,
): string[] {
  const age = ageText((parseTime(now) ?? 0) - (parseTime(fault.since) ?? 0));
  const cause = fault.cause === 'node-condition' ? '' : `: ${fault.cause}`;
  return [
    ...labelled('fault', `${fault.text}${cause}, for ${age} (since ${fault.since})`, options),
    ...labelled('', fault.message, options),
    ...labelled('blame', `${fault.blame}: ${fault.blameReason}`, options),
    ...labelled('ceiling', fault.ceiling, options),
  ];
}

function isolatedLines(
  { by, since, cordoned, tainted }: NonNullable<RemediationPlan['isolated']>,
  options: PlanTextOptions,
): string[] {
  const done = [cordoned ? 'cordoned' : '', tainted ? 'tainted' : ''].filter(Boolean);
  const what = done.length === 0 ? 'marked' : done.join(' and ');
  return labelled('isolated', `${what} since ${since} by ${by}`, options);
}

function stepsBlock(plan: RemediationPlan, options: PlanTextOptions): string[] {
  const { steps, stoppedAt, wouldAct } = plan;
  if (steps.length === 0) return [];
  const isIdle = stoppedAt !== undefined && !wouldAct;
  const title = isIdle
    ? 'steps, if that were not so'
    : 'steps, as long as everything stays as it is';
  const labels = steps.map(({ name }, index) => `${index + 1} ${name}`);
  const room = Math.max(labelWidth, ...labels.map((label) => label.length));
  return [
    options.style.bold(title),
    ...steps.flatMap(({ detail }, index) =>
      labelled(labels[index] ?? '', detail, options, plain, room),
    ),
  ];
}

function podsBlock({ pods, steps }: RemediationPlan, options: PlanTextOptions): string[] {
  if (pods === undefined) return [];
  const drains = steps.some(({ state }) => state === 'DrainNode');
  const title = drains
    ? 'the drain, on the pods of this moment'
    : 'pods: it would not be drained; a drain would now';
  const groups = groupsOf(pods).filter(({ lines }) => lines.length > 0);
  return [
    options.style.bold(title),
    ...(groups.length === 0 ? ['  find no pods'] : []),
    ...groups.flatMap(({ title: name, paint, lines }) => [
      `  ${paint(options.style)(name)}`,
      ...lines.flatMap((line) => indented(line, 4, options)),
    ]),
  ];
}

interface Group {
  title: string;
  paint: (style: Style) => Paint;
  lines: string[];
}

const laterStage = {
  workload: [],
  'cluster-critical': ['after the workload'],
  'node-local': ['last'],
};

function groupsOf(pods: PlannedPods): Group[] {
  return [
    {
      title: `evict: ${plural(pods.evict.length, 'pod')}, in this order`,
      paint: (style) => style.good,
      lines: pods.evict.map(({ pod, graceSeconds, budgets, warnings, stage }) =>
        said(pod, [
          ...laterStage[stage],
          `grace ${graceSeconds} s`,
          ...budgets.map(
            ({ budget, disruptionsAllowed }) => `budget ${budget} allows ${disruptionsAllowed} now`,
          ),
          ...warnings,
        ]),
      ),
    },
    {
      title: `blocked: ${plural(pods.blocked.length, 'pod')}`,
      paint: (style) => style.bad,
      lines: pods.blocked.map(({ pod, message }) => said(pod, [message])),
    },
    {
      title: `needs approval: ${plural(pods.needsApproval.length, 'pod')}`,
      paint: (style) => style.warning,
      lines: pods.needsApproval.map(({ pod, reasons }) =>
        said(
          pod,
          reasons.map(({ message }) => message),
        ),
      ),
    },
    {
      title: `leaving already: ${plural(pods.leaving.length, 'pod')}`,
      paint: () => plain,
      lines: pods.leaving.map(({ pod, until }) => said(pod, [`within its grace until ${until}`])),
    },
    {
      title: `skip: ${plural(pods.skip.length, 'pod')}`,
      paint: (style) => style.dim,
      lines: pods.skip.map(({ pod, message }) => said(pod, [message])),
    },
  ];
}

function said(pod: string, reasons: readonly string[]): string {
  return `${pod}: ${reasons.join('; ')}`;
}

/** The command stays whole, so that it can be copied. */
function endBlock({ wouldAct }: RemediationPlan, { style, command }: PlanTextOptions): string[] {
  const nothing = style.dim('Nothing was written.');
  return wouldAct ? [`${nothing} ${style.dim('To do it:')}`, printable(command)] : [nothing];
}

function labelled(
  label: string,
  text: string,
  { style, width }: PlanTextOptions,
  paint: Paint = style.dim,
  labelRoom = labelWidth,
): string[] {
  const room = width === undefined ? undefined : Math.max(30, width - labelRoom - 3);
  return fold(printable(text), room).map((line, index) => {
    const shown = (index === 0 ? label : '').padEnd(labelRoom);
    return `  ${paint(shown)} ${line}`;
  });
}

function indented(
  text: string,
  indent: number,
  { width }: PlanTextOptions,
  paint: Paint = plain,
): string[] {
  const room = width === undefined ? undefined : Math.max(30, width - indent);
  return fold(printable(text), room).map((line) => ' '.repeat(indent) + paint(line));
}
