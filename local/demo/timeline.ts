/** The events in words, as far as a spectator wants to know them. */
import type { AuditEntry } from '../cluster/api/api-server.ts';
import type { Happening } from '../cluster/changes.ts';
import { isEviction } from './checks.ts';
import type { DemoEvent } from './events.ts';
import { count, shortName, withShortNames } from './words.ts';

/** `stage` is what befalls a cluster; the others are what nodegap and Karpenter do about it. */
export type Tone = 'stage' | 'plain' | 'good' | 'bad' | 'warning' | 'people';

export interface TimelineEntry {
  at: number;
  letter: string;
  text: string;
  tone: Tone;
}

/** Answers that are worth a line only when they differ from the one before. */
const loops = ['CheckRecovery', 'DrainNode', 'VerifyReplacement', 'AcquireSlot'];
const goodCodes = ['recovered', 'replaced', 'released', 'hold-up'];
/** They say nothing that other lines do not say. */
const silent = ['ReleaseSlot', 'Report'];

export class Teller {
  readonly #lastScan = new Map<string, string>();
  readonly #lastAnswer = new Map<string, string>();
  /** Nodes that joined while the demo ran. */
  readonly #joined = new Set<string>();
  /** Refusals so far, by pod. */
  readonly #refusals = new Map<string, number>();

  /** The lines that an event adds, most often none. */
  tell(event: DemoEvent): TimelineEntry[] {
    const line = this.#line(event);
    if (line === undefined) return [];
    const { at, letter } = event;
    return [{ at, letter, tone: line.tone, text: withShortNames(line.text) }];
  }

  #line(event: DemoEvent): Pick<TimelineEntry, 'text' | 'tone'> | undefined {
    switch (event.kind) {
      case 'staged':
        return { text: event.words, tone: 'stage' };
      case 'happened':
        return this.#happening(event.happening);
      case 'wrote':
        return this.#write(event.entry);
      case 'scanned':
        return this.#scan(event);
      case 'notified': {
        const { kind, body } = event.notice;
        if (kind === 'report') return undefined;
        const [first = ''] = body.split('\n', 1);
        return { text: `people are told: ${first.replace(/\.$/, '')}`, tone: 'people' };
      }
      case 'answered':
        return this.#answer(event);
      case 'ended': {
        if (event.status === 'SUCCEEDED') return undefined;
        return { text: `${event.input.node}: the execution ${event.status}`, tone: 'bad' };
      }
      case 'failed':
        return { text: event.message, tone: 'bad' };
      case 'entered':
        return undefined;
    }
  }

  #happening(happening: Happening): Pick<TimelineEntry, 'text' | 'tone'> | undefined {
    switch (happening.kind) {
      case 'claim-added':
        return { text: `Karpenter launches a node: NodeClaim ${happening.claim}`, tone: 'plain' };
      case 'node-added':
        this.#joined.add(happening.node);
        return { text: `${happening.node} joins pool ${happening.pool ?? '?'}`, tone: 'plain' };
      case 'node-ready':
        if (!this.#joined.has(happening.node)) return undefined;
        return { text: `${happening.node} is Ready`, tone: 'plain' };
      case 'node-removed':
        return { text: `${happening.node} is gone`, tone: 'plain' };
      default:
        return undefined;
    }
  }

  /** Evictions of workload; what else nodegap writes its answers say. */
  #write(entry: AuditEntry): Pick<TimelineEntry, 'text' | 'tone'> | undefined {
    if (!isEviction(entry)) return undefined;
    const [, namespace = '', name = ''] =
      /\/namespaces\/([^/]+)\/pods\/([^/]+)\/eviction$/.exec(entry.path) ?? [];
    const pod = `${namespace}/${name}`;
    const refusals = this.#refusals.get(pod) ?? 0;
    if (entry.status === 429) {
      this.#refusals.set(pod, refusals + 1);
      if (refusals > 0) return undefined;
      return { text: `${pod} stays: its budget allows no eviction now`, tone: 'warning' };
    }
    if (namespace === 'kube-system') return undefined;
    const after = refusals === 0 ? '' : `, after ${count(refusals, 'refusal')} by its budget`;
    return { text: `${pod} is evicted${after}`, tone: refusals === 0 ? 'plain' : 'good' };
  }

  #scan(event: Extract<DemoEvent, { kind: 'scanned' }>) {
    const { gaps, actionable } = event.result;
    const text =
      gaps === 0
        ? 'scan: no gaps'
        : `scan: ${count(gaps, 'gap')}, ${actionable === 0 ? 'none' : actionable} to act on now`;
    const before = this.#lastScan.get(event.letter);
    this.#lastScan.set(event.letter, text);
    if (before === text || (before === undefined && gaps === 0)) return undefined;
    return { text, tone: 'plain' as const };
  }

  #answer(event: Extract<DemoEvent, { kind: 'answered' }>) {
    const { execution, input, state, code, message } = event;
    if (silent.includes(state)) return undefined;
    const key = `${execution} ${state}`;
    const isRepeated = loops.includes(state) && this.#lastAnswer.get(key) === code;
    this.#lastAnswer.set(key, code);
    if (isRepeated) return undefined;
    const because = loops.includes(state) ? ` (${code})` : '';
    return {
      text: `${shortName(input.node)} ${state}${because}: ${message}`,
      tone: goodCodes.includes(code) ? ('good' as const) : ('plain' as const),
    };
  }
}
