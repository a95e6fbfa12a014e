import type { Cause, Gap } from '../gap/model.ts';
import { quoted } from './shell.ts';

/** Causes whose last words are in the log of the container before. */
const endedCauses: readonly Cause[] = ['crash-loop', 'oom-killed'];
const roomCauses: readonly Cause[] = ['unschedulable-resources', 'unschedulable-ports'];
const nodeCauses: readonly Cause[] = [
  'untolerated-taint',
  'node-not-ready',
  'evicted',
  'sandbox',
  'missing',
  'image-pull',
  'volume',
];

/** kubectl commands that show more about a gap, the most telling first. */
export function lookFurther(gap: Gap, context: string | undefined): string[] {
  const kubectl = context === undefined ? 'kubectl' : `kubectl --context ${quoted(context)}`;
  const [namespace = '', name = ''] = gap.daemonSet.split('/').map(quoted);
  const node = quoted(gap.node);
  const commands: string[] = [];
  if (gap.pod === undefined) {
    commands.push(`${kubectl} -n ${namespace} describe daemonset ${name}`);
  } else {
    const pod = quoted(gap.pod.name);
    commands.push(`${kubectl} -n ${namespace} describe pod ${pod}`);
    if (endedCauses.includes(gap.cause)) {
      commands.push(`${kubectl} -n ${namespace} logs ${pod} --all-containers --previous`);
    } else if (gap.cause === 'not-ready') {
      commands.push(`${kubectl} -n ${namespace} logs ${pod} --all-containers --tail=50`);
    }
  }
  if (roomCauses.includes(gap.cause)) {
    commands.push(`${kubectl} get pods -A --field-selector spec.nodeName=${node}`);
  }
  if (nodeCauses.includes(gap.cause)) commands.push(`${kubectl} describe node ${node}`);
  if (gap.blame === 'daemonset') {
    commands.push(`${kubectl} -n ${namespace} rollout history daemonset ${name}`);
  }
  return commands;
}
