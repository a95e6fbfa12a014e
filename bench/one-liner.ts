/** What people type today, for each DaemonSet: the nodes less the nodes of its pods. */
import { programPath } from '../test/e2e/harness/tools.ts';
import { catalogue } from './daemonsets.ts';
import { nodeName, type Plan } from './plan.ts';
import { runShell, type ShellRun } from './run.ts';

// In the background instead of `comm <(…) <(…)`, whose programs bash leaves out of its times.
const script = `
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for item in $DAEMONSETS; do
  "$KUBECTL" get nodes -o jsonpath='{range .items[*]}{.metadata.name}{"\\n"}{end}' |
    sort > "$folder/nodes" &
  "$KUBECTL" get pods -n "\${item%/*}" -l "app.kubernetes.io/name=\${item#*/}" \\
    -o jsonpath='{range .items[*]}{.spec.nodeName}{"\\n"}{end}' | sort > "$folder/pods" &
  wait
  comm -23 "$folder/nodes" "$folder/pods" | sed "s|^|$item |"
done
times >&2
`;

/** The run, and the user and system time of all that it started, in milliseconds. */
export async function runOneLiner(kubeconfig: string): Promise<ShellRun & { cpuMs: number }> {
  const run = await runShell(script, {
    KUBECONFIG: kubeconfig,
    KUBECTL: programPath('kubectl'),
    DAEMONSETS: catalogue.map(({ key }) => key).join(' '),
  });
  // The first line is of the shell itself, the last one of all that it waited for.
  const times = [...run.stderr.matchAll(/(\d+)m([\d.]+)s/g)].slice(-2);
  const seconds = times.reduce(
    (sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest),
    0,
  );
  return { ...run, cpuMs: seconds * 1000 };
}

/** What it should print: it sees only pods that are not there at all. */
export function oneLinerAnswer(plan: Plan): string[] {
  const lines: string[] = [];
  for (const { key } of catalogue) {
    for (let node = 0; node < plan.size; node += 1) {
      if (plan.faultOf(node, key) === 'missing') lines.push(`${key} ${nodeName(node)}`);
    }
  }
  return lines.sort();
}
