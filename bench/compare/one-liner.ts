/** What people type today, in a loop: find nodes without a Ready pod, cordon, drain, delete. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { ControlPlane } from '../../test/e2e/harness/control-plane.ts';
import { programPath } from '../../test/e2e/harness/tools.ts';
import type { Named } from './judge.ts';

/** Seconds between two looks. */
export const lookSeconds = 10;
/** How long a drain may take before the node is deleted all the same. */
export const drainSeconds = 60;

/**
 * The script, as docs/comparison.md shows it. It is kinder than most that are typed: it asks only
 * about DaemonSets whose own status says that pods are missing, honours their nodeSelector, and acts
 * only on a node that two looks in a row have named.
 */
export const script = `look() {
  kubectl get daemonsets -A -o go-template='{{range .items}}{{.metadata.namespace}} {{.metadata.name}} {{.status.desiredNumberScheduled}} {{.status.numberReady}} {{range $key, $value := .spec.template.spec.nodeSelector}}{{$key}}={{$value}},{{end}}{{"\\n"}}{{end}}' |
  while read -r namespace name desired ready selector; do
    [ "$ready" -lt "$desired" ] || continue
    comm -23 \\
      <(kubectl get nodes -l "\${selector%,}" -o name | cut -d/ -f2 | sort) \\
      <(kubectl get pods -n "$namespace" -l "app=$name" -o go-template='{{range .items}}{{$node := .spec.nodeName}}{{range .status.conditions}}{{if and (eq .type "Ready") (eq .status "True")}}{{$node}}{{"\\n"}}{{end}}{{end}}{{end}}' | sort) |
    sed "s/^/$name /"
  done | sort
}
before=
while now=$(look); do
  comm -12 <(echo "$before") <(echo "$now") | grep . | tee /dev/stderr | cut -d' ' -f2 | sort -u |
  while read -r node; do
    kubectl cordon "$node"
    kubectl drain "$node" --ignore-daemonsets --delete-emptydir-data --timeout=${drainSeconds}s
    kubectl delete node "$node" --wait=false
  done
  before=$now
  sleep ${lookSeconds}
done`;

export interface Loop {
  named: Named[];
  stop(): Promise<void>;
}

/** Runs it as admin until stopped. What it names comes back by way of its standard error. */
export function startOneLiner(cluster: ControlPlane, log: (line: string) => void): Loop {
  const kubectl = programPath('kubectl');
  const prelude = [
    `kubectl() { '${kubectl}' "$@" 2>/dev/null; }`,
    // A word of its own tells what it names from what else is written there.
    `tee() { while IFS= read -r line; do echo "$line"; echo "named $line" >&2; done; }`,
  ];
  const child = spawn('bash', ['-c', [...prelude, script].join('\n')], {
    env: { ...process.env, KUBECONFIG: cluster.kubeconfig() },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  const ended = once(child, 'close');
  const named: Named[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    const [word, daemonSet, node] = line.split(' ');
    if (word !== 'named' || node === undefined || daemonSet === undefined) {
      log(`one-liner: ${line}`);
      return;
    }
    named.push({ at: Date.now(), node, daemonSet });
  });
  return {
    named,
    async stop() {
      // The whole group: the shell may be in the middle of a drain.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
      await ended;
    },
  };
}
