/** What stays to be read when an attempt has ended. Pure. */
import { adviceFor } from '../../lib/report/notices/advice.ts';
import type { Style } from '../../lib/report/style.ts';
import type { AttemptView } from './attempt-view.ts';
import { labelled } from './terminal.ts';

/** How the command ends. */
export interface Ending {
  exitCode: number;
  /** Stable: docs/reason-codes.md and docs/remediate.md list them. */
  code: string;
  message: string;
}

export interface SummaryOptions {
  cluster: string;
  node: string;
  /** The command line that calls a command for a node, as the user would type it. */
  commandOf(command: string, node: string): string;
  took: string;
  style: Style;
  width: number | undefined;
}

const labelWidth = 12;

const nodeWords: Record<string, string> = {
  untouched: 'as it was',
  isolated: 'stays isolated',
  released: 'as it was: what was done is undone',
  leaving: 'its deletion was asked for and has not ended',
  replaced: 'replaced',
  gone: 'gone',
};

export function summaryLines(
  view: AttemptView,
  { exitCode, code, message }: Ending,
  options: SummaryOptions,
): string[] {
  const { style, width, node, took } = options;
  const paint = exitCode === 0 ? style.good : exitCode === 2 ? style.warning : style.bad;
  const part = (label: string, text: string) =>
    labelled(`  ${label}`, text, { labelWidth, width, paint: style.dim });
  const whole = (label: string, text: string) =>
    labelled(`  ${label}`, text, { labelWidth, width: undefined, paint: style.dim }).join('');
  const { report = {} } = view;
  const steps = String(report.steps ?? '');
  const cure = String(report.curedBy ?? '');
  const left = nodeWords[String(report.node)];
  const next = nextLines(view, code, options);
  return [
    '',
    ...labelled(`${code}:`, message, {
      labelWidth: Math.max(labelWidth, code.length + 1),
      width,
      paint: (text) => style.bold(paint(text)),
    }),
    ...part('node', left === undefined ? node : `${node}: ${left}`),
    ...(steps === '' ? [] : part('steps', steps)),
    ...(cure === '' ? [] : part('cured by', cure)),
    ...part('took', took),
    // Paths and commands stay whole, so that they can be copied.
    ...view.evidence.map(({ before, location }) =>
      whole('evidence', `${location} (before the ${before})`),
    ),
    ...next.map((line, index) => whole(index === 0 ? 'next' : '', line)),
  ];
}

/** What is to be done here in another way than in an AWS account. */
const adviceHere: Record<string, string> = {
  'evidence-unsaved':
    'See that the folder for the evidence can be written to, or name another one: --evidence FOLDER',
};

/** `kubectl uncordon` lets a running nodegap take its taint off as well; here none runs. */
const uncordon = / Or put the node back into service: kubectl uncordon \S+$/;

/** What to do, as a mail would say it, with the commands of this place. */
function nextLines(
  { report, results }: AttemptView,
  code: string,
  { cluster, node, commandOf }: SummaryOptions,
): string[] {
  const subjects = String(results.confirm?.daemonSets ?? '').split(',');
  const daemonSet = subjects.find((subject) => subject.includes('/'));
  const subject = { cluster, node, daemonSet };
  const here = adviceHere[code];
  const lines = here === undefined ? adviceFor(code, subject) : [here, ...adviceFor('', subject)];
  const advice = lines.map((line) =>
    line
      .replace(uncordon, '')
      .replace(/nodegap request \S+ --cluster \S+/, commandOf('remediate', node))
      .replace(/nodegap explain (\S+(?: \S+)?)$/, (_all, words: string) =>
        // It takes its entry of the configuration by the name of the context.
        commandOf('explain', words).replace(/ --cluster \S+/, ''),
      ),
  );
  return report?.node === 'isolated'
    ? [...advice, `Undo the isolation: ${commandOf('release', node)}`]
    : advice;
}
