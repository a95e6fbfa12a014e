/**
 * Which nodes get a taint for a condition, and which lose theirs.
 *
 * Gotchas
 * - A condition is believed only as lib/gap/condition-reading.ts says. What cannot be believed
 *   changes nothing: no taint comes, none goes, and what was seen stays as it was.
 * - Hold-down and hold-up run from the first of the sightings without a break, and from the last
 *   change that the condition tells of: a detector that flaps between two scans starts anew.
 * - A note without its taint: somebody took it off by hand. It stays off until the condition is over.
 */
import { isoTime, parseTime } from '../../clock.ts';
import type { ConditionTaintConfig } from '../../config/model.ts';
import { type ConditionReading, readCondition } from '../../gap/condition-reading.ts';
import { ruleFor } from '../../gap/condition-rules.ts';
import { nodeHealthOf } from '../../gap/node-health.ts';
import { ago } from '../../gap/words.ts';
import { type Condition, conditionOf, type Node } from '../../kubernetes/objects.ts';
import { Gate, type GateAnswer } from './gate.ts';
import { type MarkOfTaints, type NotedTaint, readConditionMark } from './mark.ts';
import type {
  ConditionTaintDecision,
  ConditionTaintFacts,
  ConditionTaintSettings,
  Sighting,
  TaintVerdict,
} from './model.ts';
import { newSighting, sightingKey } from './sightings.ts';
import { conditionTaintKey, conditionTaintName } from './taint.ts';

/** Something that would be put on if nothing forbids it. */
interface Candidate {
  kind: 'candidate';
  node: Node;
  rule: ConditionTaintConfig;
  since: number;
  message: string;
  /** Its taint stands with a harder effect: nothing may forbid to soften that. */
  softens: boolean;
}

/** Decides over every node and rule. Pure; `now` is epoch ms. */
export function decideConditionTaints(
  facts: ConditionTaintFacts,
  settings: ConditionTaintSettings,
  now: number,
): ConditionTaintDecision {
  const judge = new Judge(facts, settings, now);
  const found = facts.nodes.flatMap((node) => judge.node(node));
  if (facts.doubt !== undefined) {
    const { code, message } = facts.doubt;
    const verdicts = found.map((each): TaintVerdict => {
      const { node, rule } = each;
      const name = each.kind === 'candidate' ? each.rule.name : each.name;
      return { kind: 'keep', node, name, rule, code, message };
    });
    return { verdicts, sightings: [...(facts.remembered ?? [])] };
  }
  const gate = new Gate(facts, settings, now);
  // The oldest first, so that it is not chance who is let through.
  const candidates = found.filter((each) => each.kind === 'candidate');
  candidates.sort(
    (a, b) => a.since - b.since || compare(a.node.metadata.name, b.node.metadata.name),
  );
  const verdicts = found.filter((each) => each.kind !== 'candidate');
  verdicts.push(...candidates.map((candidate) => gated(gate, candidate)));
  return { verdicts, sightings: judge.sightings };
}

function gated(gate: Gate, { node, rule, since, message, softens }: Candidate): TaintVerdict {
  const { name } = rule;
  const about = { node, name, rule };
  const answer = softens
    ? ({ kind: 'open', turns: [] } satisfies GateAnswer)
    : gate.ask(node, name, rule.effect);
  if (answer.kind === 'open') {
    const { turns } = answer;
    return { kind: 'add', ...about, code: 'condition-taint-added', message, since, turns };
  }
  const { code, held, shutOut } = answer;
  return {
    kind: 'refused',
    ...about,
    code,
    message: answer.message,
    ...(held === undefined ? {} : { held }),
    ...(shutOut === undefined ? {} : { shutOut }),
  };
}

class Judge {
  readonly sightings: Sighting[] = [];
  readonly #facts: ConditionTaintFacts;
  readonly #settings: ConditionTaintSettings;
  readonly #now: number;
  readonly #remembered: ReadonlyMap<string, Sighting>;

  constructor(facts: ConditionTaintFacts, settings: ConditionTaintSettings, now: number) {
    this.#facts = facts;
    this.#settings = settings;
    this.#now = now;
    this.#remembered = new Map((facts.remembered ?? []).map((each) => [sightingKey(each), each]));
  }

  node(node: Node): (TaintVerdict | Candidate)[] {
    const mark = readConditionMark(node, this.#facts.installation);
    const rules = this.#settings.conditionTaints;
    const judged = rules.map((rule) => this.#rule(node, rule, mark));
    const known = new Set(rules.map(({ name }) => name));
    return [...judged, ...withoutRule(node, mark, known)].filter((each) => each !== undefined);
  }

  #rule(
    node: Node,
    rule: ConditionTaintConfig,
    mark: MarkOfTaints,
  ): TaintVerdict | Candidate | undefined {
    const { name } = rule;
    const about = { node, name, rule };
    const key = conditionTaintKey(name);
    const borne = (node.spec.taints ?? []).filter((taint) => taint.key === key);
    const noted = mark.kind === 'ours' ? mark.taints[name] : undefined;
    if (noted === undefined && borne.length > 0) {
      const why =
        mark.kind === 'foreign' ? mark.message : 'nothing on the node says that nodegap did';
      const message = `somebody else put ${key} on: ${why}`;
      return { kind: 'keep', ...about, code: 'condition-taint-foreign', message };
    }
    const reading = this.#read(node, rule, noted !== undefined);
    switch (reading.kind) {
      case 'silent':
        return undefined;
      case 'unknown': {
        this.#keepSighting(node, name);
        const { reason: code, message } = reading;
        return { kind: 'keep', ...about, code, message };
      }
      case 'over':
        return noted && this.#over(about, reading.since, reading.message);
      case 'fault': {
        if (mark.kind === 'foreign') {
          const { message } = mark;
          return { kind: 'refused', ...about, code: 'condition-taint-foreign', message };
        }
        const stands = borne.some(({ effect }) => effect === noted?.effect);
        return this.#fault(about, reading, noted, stands);
      }
    }
  }

  /** The end of a condition that is there no more counts like one that says so. */
  #read(
    node: Node,
    rule: ConditionTaintConfig,
    isNoted: boolean,
  ):
    | Exclude<ConditionReading<ConditionTaintConfig>, { kind: 'well' }>
    | { kind: 'over'; since: number | undefined; message: string } {
    const { type } = rule;
    const now = this.#now;
    const said = conditionOf(node.status.conditions, type);
    const health = nodeHealthOf(node, now);
    if (health.kind !== 'ready') {
      const concerns = isNoted || (said !== undefined && ruleFor([rule], said) !== undefined);
      if (!concerns) return { kind: 'silent' };
      const reason = health.kind === 'silent' ? health.reason : 'condition-node-not-ready';
      const message = `${health.message}, so its condition ${type} cannot be believed`;
      return { kind: 'unknown', reason, message };
    }
    if (said === undefined) {
      if (!isNoted) return { kind: 'silent' };
      const message = `the node has no condition ${type} any more`;
      return { kind: 'over', since: undefined, message };
    }
    const record = isNoted ? {} : undefined;
    const reading = readCondition(node, type, { rules: [rule], record, settleMs: 0, now });
    if (reading.kind !== 'well') return reading;
    const { status, reason } = said;
    // The detector could not look (node-problem-detector: any exit code but 0 and 1).
    if (status === 'Unknown') {
      const message = `${type}=Unknown${reason ? ` (${reason})` : ''}: its detector cannot say`;
      return isNoted
        ? { kind: 'unknown', reason: 'condition-unknown', message }
        : { kind: 'silent' };
    }
    const message = `${type}=${status}${reason ? ` (${reason})` : ''} is not what the rule is for`;
    return { kind: 'over', since: parseTime(said.lastTransitionTime), message };
  }

  #fault(
    about: { node: Node; name: string; rule: ConditionTaintConfig },
    { condition }: { condition: Condition },
    noted: NotedTaint | undefined,
    stands: boolean,
  ): TaintVerdict | Candidate {
    const { node, name, rule } = about;
    const now = this.#now;
    const { type, status, reason } = condition;
    const said = parseTime(condition.lastTransitionTime);
    const why = `${type}=${status}${reason ? ` (${reason})` : ''}${said === undefined ? '' : ` since ${isoTime(said)}`}`;
    if (noted !== undefined) {
      const code = stands ? 'condition-taint-stands' : 'condition-taint-taken-off';
      if (!stands) {
        const message = `somebody took ${conditionTaintKey(name)} off the node; it stays off until the condition is over (${why})`;
        return { kind: 'refused', ...about, code, message };
      }
      if (noted.effect === rule.effect) return { kind: 'keep', ...about, code, message: why };
      const since = parseTime(noted.since) ?? now;
      const message = `${why}; its effect becomes ${rule.effect}`;
      const softens = rule.effect === 'PreferNoSchedule';
      return { kind: 'candidate', node, rule, since, message, softens };
    }
    const sighting = this.#see(node, name, 'there');
    const since = Math.min(now, said ?? sighting.since);
    const old = since + rule.minimumAge * 1000;
    // Without memory the condition's own time is all there is.
    const held =
      (this.#facts.remembered === undefined ? since : Math.max(sighting.since, since)) +
      rule.holdDown * 1000;
    if (now < old) {
      const message = `${why}, younger than ${rule.minimumAge} s`;
      return { kind: 'wait', ...about, code: 'condition-too-young', message, until: old };
    }
    if (now < held) {
      const message = `${why}, not seen for ${rule.holdDown} s without a break yet`;
      return { kind: 'wait', ...about, code: 'condition-hold-down', message, until: held };
    }
    return { kind: 'candidate', node, rule, since, message: why, softens: false };
  }

  #over(
    about: { node: Node; name: string; rule: ConditionTaintConfig },
    changed: number | undefined,
    why: string,
  ): TaintVerdict {
    const { node, name, rule } = about;
    const now = this.#now;
    const sighting = this.#see(node, name, 'over');
    const change = Math.min(now, changed ?? sighting.since);
    const since = this.#facts.remembered === undefined ? change : Math.max(sighting.since, change);
    const until = since + rule.holdUp * 1000;
    if (now < until) {
      const message = `${why}, for ${ago(now - since)} of ${rule.holdUp} s`;
      return { kind: 'wait', ...about, code: 'condition-hold-up', message, until };
    }
    return { kind: 'remove', ...about, code: 'condition-taint-removed', message: why };
  }

  #see(node: Node, rule: string, seen: Sighting['seen']): Sighting {
    const { uid: nodeUid } = node.metadata;
    const before = this.#remembered.get(sightingKey({ nodeUid, rule }));
    const scanMs = this.#settings.timings.scan * 1000;
    const sighting = newSighting(before, { nodeUid, rule, seen }, scanMs, this.#now);
    this.sightings.push(sighting);
    return sighting;
  }

  #keepSighting(node: Node, rule: string): void {
    const before = this.#remembered.get(sightingKey({ nodeUid: node.metadata.uid, rule }));
    if (before !== undefined) this.sightings.push(before);
  }
}

/** Taints of ours that no rule stands behind, and those of others that only look like ours. */
function withoutRule(node: Node, mark: MarkOfTaints, known: ReadonlySet<string>): TaintVerdict[] {
  const noted = mark.kind === 'ours' ? Object.keys(mark.taints) : [];
  const orphans = noted.filter((name) => !known.has(name));
  const borne = (node.spec.taints ?? []).flatMap((taint) => conditionTaintName(taint) ?? []);
  const foreign = new Set(borne.filter((name) => !known.has(name) && !noted.includes(name)));
  return [
    ...orphans.map((name): TaintVerdict => {
      const message = `no entry of conditionTaints is called ${name}`;
      return {
        kind: 'remove',
        node,
        name,
        rule: undefined,
        code: 'condition-taint-orphan',
        message,
      };
    }),
    ...[...foreign].map((name): TaintVerdict => {
      const why =
        mark.kind === 'foreign' ? mark.message : 'nothing on the node says that nodegap did';
      const message = `no entry of conditionTaints is called ${name}, and somebody else put the taint on: ${why}`;
      return {
        kind: 'keep',
        node,
        name,
        rule: undefined,
        code: 'condition-taint-foreign',
        message,
      };
    }),
  ];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
