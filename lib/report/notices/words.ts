/** Words that all notices share: sentences, times, lists of names, faults. Pure. */
import { isoTime } from '../../clock.ts';
import type { FaultCause } from '../../gap/fault.ts';

/** Names that stand in one line of a notice. */
export const mostNamed = 20;

/** Ends with one full stop and begins with a capital, unless with a name. Empty stays empty. */
export function sentence(text: string): string {
  const trimmed = text.trim().replace(/[.;,\s]+$/, '');
  if (trimmed === '') return '';
  const [word = ''] = trimmed.split(/\s/, 1);
  const isWord = /^[a-z]+,?$/.test(word) && word !== 'nodegap';
  const ended = /[!?:]$/.test(trimmed) ? trimmed : `${trimmed}.`;
  return isWord ? `${ended.charAt(0).toUpperCase()}${ended.slice(1)}` : ended;
}

/** For example `2026-11-29 13:05 UTC`: to the minute, as a person needs it. */
export function timeText(epochMs: number): string {
  return isoTime(epochMs)
    .replace('T', ' ')
    .replace(/:\d\dZ$/, ' UTC');
}

/** `a, b, c and 12 more`. */
export function namesText(names: readonly string[], most = mostNamed): string {
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return `${names.slice(0, most).join(', ')}${more}`;
}

/** `{on}` is where. */
const causeWords: Record<Exclude<FaultCause, 'node-condition' | 'node-not-ready'>, string> = {
  missing: 'has no pod{on}',
  'unschedulable-resources': 'has no room{on}',
  'unschedulable-ports': 'has no free host port{on}',
  'untolerated-taint': 'is kept away by a taint{on}',
  'image-pull': 'cannot get its image{on}',
  'config-error': 'lacks a Secret, a ConfigMap or a key of one{on}',
  'crash-loop': 'keeps crashing{on}',
  'oom-killed': 'keeps running out of memory{on}',
  'not-ready': 'runs{on} and does not become Ready',
  sandbox: 'gets no pod sandbox (network){on}',
  starting: 'is still starting{on}',
  terminating: 'has only an old pod{on}, which does not go away',
  rollout: 'is being rolled out{on}',
  evicted: 'was thrown out by the kubelet{on}',
  volume: 'cannot mount its volumes{on}',
  'create-blocked': 'gets no pod{on}, because the API server refuses it',
  unknown: 'is not Ready{on}, and why is not understood',
};

/**
 * What is wrong in plain words: `kube-system/aws-node keeps crashing on it`. `cause` is one of
 * faultCauses; another one, which an old execution may carry, stands as it is. `text` is that of a
 * condition.
 */
export function faultWords(
  subjects: readonly string[],
  cause: string,
  text = '',
  on = ' on it',
): string {
  const [first = 'a required DaemonSet'] = subjects;
  const more = subjects.length > 1 ? ` (and ${subjects.length - 1} more)` : '';
  if (cause === 'node-condition') {
    const condition = text === '' ? first : text;
    return on === ' on it' ? `it has ${condition}` : `${condition}${on}`;
  }
  if (cause === 'node-not-ready') {
    return on === ' on it' ? 'the node itself is not Ready' : `the node itself is not Ready${on}`;
  }
  const words = causeWords[cause as keyof typeof causeWords] ?? `is not Ready{on}: ${cause}`;
  return `${first}${more} ${words.replace('{on}', on)}`;
}
