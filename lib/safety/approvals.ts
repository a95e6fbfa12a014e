/**
 * Questions to persons and their answers. A question is decided once; the task token that carries
 * the answer is kept apart from the question and leaves only by `decide` and `tokenOf`.
 */
import type { Clock } from '../clock.ts';
import { NodegapError, UsageError } from '../errors.ts';
import type { Condition, StateTable, Write } from '../ports.ts';
import {
  type Answer,
  APPROVALS_PK,
  type Approval,
  answersTo,
  approvalFrom,
  approvalItem,
  approvalKey,
  type Decided,
  decidedFields,
  type Question,
  ROUNDS_PK,
  roundKey,
  roundsPrefix,
  type Settlement,
  tokenKey,
  ttlOf,
  type Via,
  type Why,
} from './approval-items.ts';
import { textOf } from './item-fields.ts';
import type { QuestionFacts } from './question-facts.ts';
import type { DueNotice } from './reminders.ts';

export type {
  Answer,
  Approval,
  Decided,
  Decision,
  Question,
  Settlement,
  Via,
  Why,
} from './approval-items.ts';
export { answersTo } from './approval-items.ts';

export interface ApprovalRequest {
  cluster: string;
  node: string;
  nodeUid: string;
  episode: number;
  attempt: number;
  execution: string;
  question: Question;
  /** What the person should know. */
  facts: QuestionFacts;
  taskToken: string;
  /** Epoch ms. */
  deadline: number;
  /** Which time that this execution asks this question, from 1 up; found out when absent. */
  round?: number;
}

/** What a person answered, when (epoch ms), and how it came in. */
export interface PersonAnswer {
  decision: Answer;
  by: string;
  at: number;
  via: Via;
  /** Source address, where it is known. */
  address?: string;
}

export type DecideOutcome =
  | { kind: 'decided'; taskToken: string; approval: Approval }
  | ({ kind: 'already-decided' } & Decided)
  | { kind: 'expired' }
  | { kind: 'not-found' };

/** Rounds lost to another call that asked at the same moment, before giving up. */
const MAX_LOST = 5;

export class Approvals {
  readonly #table: StateTable;
  readonly #clock: Clock;
  readonly #newId: () => string;

  /** `newId` makes an id that nobody can guess: it stands in links. */
  constructor(table: StateTable, clock: Clock, deps: { newId: () => string }) {
    this.#table = table;
    this.#clock = clock;
    this.#newId = deps.newId;
  }

  /**
   * Asks, and answers the question's id. The same question of the same execution keeps its id
   * while it is open; a retried task brings a new token, which replaces the old one. With a new
   * token after the question was decided or ran out, it is asked anew, as the next round. A caller
   * that counts rounds itself gives `round`, and the same round always keeps its id.
   */
  async request(request: ApprovalRequest): Promise<string> {
    let round = request.round ?? 1;
    for (let lost = 0; lost < MAX_LOST; ) {
      const asked = await this.#table.get(roundKey(request.execution, request.question, round));
      if (asked === undefined) {
        const id = await this.#ask(request, round);
        if (id !== undefined) return id;
        lost += 1;
      } else {
        const id = textOf(asked, 'id');
        if (request.round === undefined && (await this.#isOver(id, request.taskToken))) {
          round += 1;
        } else {
          await this.#table.transact([tokenWrite(id, request)]);
          return id;
        }
      }
    }
    throw new NodegapError(
      'State.Contended',
      `the question ${request.question} of ${request.execution} could not be stored`,
      { hint: 'try again' },
    );
  }

  /** Undefined when the round was asked by another call meanwhile. */
  async #ask(request: ApprovalRequest, round: number): Promise<string | undefined> {
    const { taskToken: _taskToken, ...question } = request;
    const id = this.#newId();
    const askedAt = this.#clock.now();
    const approval: Approval = { ...question, id, round, askedAt, reminded: 0 };
    const key = roundKey(request.execution, request.question, round);
    const ttl = ttlOf(request.deadline);
    const outcome = await this.#table.transact([
      { kind: 'put', item: { ...key, id, ttl }, condition: { kind: 'absent' } },
      { kind: 'put', item: approvalItem(approval), condition: { kind: 'absent' } },
      tokenWrite(id, request),
    ]);
    return outcome.kind === 'committed' ? id : undefined;
  }

  /** Decided or too late, and not asked by the task that asks now. */
  async #isOver(id: string, taskToken: string): Promise<boolean> {
    const approval = await this.get(id);
    const open =
      approval !== undefined &&
      approval.decided === undefined &&
      this.#clock.now() < approval.deadline;
    return !open && (await this.tokenOf(id)) !== taskToken;
  }

  /** The question, without its token. */
  async get(id: string): Promise<Approval | undefined> {
    const item = await this.#table.get(approvalKey(id));
    return item === undefined ? undefined : approvalFrom(item);
  }

  /** What one execution asked, the oldest first. Reads no other questions. */
  async ofExecution(execution: string): Promise<Approval[]> {
    const rounds = await this.#table.query(ROUNDS_PK, roundsPrefix(execution));
    const found = await Promise.all(rounds.map((round) => this.get(textOf(round, 'id'))));
    return found.filter((approval) => approval !== undefined).sort(byTime);
  }

  /** All questions that are kept, decided or not, of one cluster or of all; the oldest first. */
  async list(cluster?: string): Promise<Approval[]> {
    return (await this.#table.query(APPROVALS_PK, ''))
      .map(approvalFrom)
      .filter((approval) => cluster === undefined || approval.cluster === cluster)
      .sort(byTime);
  }

  /**
   * Takes a person's answer to a question, exactly once. The caller sends the decision with the
   * token. When that failed, deciding again answers `already-decided`: send that decision with
   * `tokenOf`.
   * @throws UsageError when the question does not allow that answer, or nobody gives it.
   */
  async decide(id: string, answer: PersonAnswer): Promise<DecideOutcome> {
    const approval = await this.get(id);
    if (approval === undefined) return { kind: 'not-found' };
    if (approval.decided !== undefined) return alreadyDecided(approval.decided);
    if (this.#clock.now() >= approval.deadline) return { kind: 'expired' };
    const allowed = answersTo[approval.question];
    if (!allowed.includes(answer.decision)) {
      throw new UsageError(
        `approval ${id} asks ${approval.question}: answer ${allowed.join(' or ')}, not ${answer.decision}`,
      );
    }
    if (answer.by.trim() === '')
      throw new UsageError('an approval needs a person: say who decides');
    return this.#decideOnce(approval, answer);
  }

  /**
   * Closes a question that has become pointless, as nodegap's own decision: never one that lets the
   * work go on. It and a person's answer cannot both count: the first that is stored does.
   */
  async settle(
    approval: Approval,
    settlement: { decision: Settlement; at: number; why: Why },
  ): Promise<DecideOutcome> {
    return this.#decideOnce(approval, { ...settlement, by: 'nodegap' });
  }

  async #decideOnce(approval: Approval, decided: Decided): Promise<DecideOutcome> {
    const { id } = approval;
    const outcome = await this.#table.transact([
      {
        kind: 'update',
        key: approvalKey(id),
        set: decidedFields(decided),
        condition: undecided,
      },
    ]);
    if (outcome.kind === 'condition-failed') {
      const before = outcome.item === undefined ? undefined : approvalFrom(outcome.item).decided;
      return before === undefined ? { kind: 'not-found' } : alreadyDecided(before);
    }
    const taskToken = await this.tokenOf(id);
    if (taskToken === undefined) {
      throw new NodegapError('State.Corrupt', `approval ${id} has no task token`);
    }
    return { kind: 'decided', taskToken, approval: { ...approval, decided } };
  }

  /** Keeps since when the node of an open question has had no fault; undefined: it has one. */
  async noteHealthy(id: string, since: number | undefined): Promise<void> {
    const change =
      since === undefined ? { remove: ['healthySince'] } : { set: { healthySince: since } };
    const key = approvalKey(id);
    await this.#table.transact([{ kind: 'update', key, ...change, condition: undecided }]);
  }

  /**
   * True for whoever is to tell people of the question again; false when another has done so
   * meanwhile, or the question is answered.
   */
  async claimNotice({ id }: Approval, due: DueNotice, now: number): Promise<boolean> {
    const { reminder, escalation } = due;
    const set = {
      ...(reminder === undefined ? {} : { reminded: reminder, remindedAt: now }),
      ...(escalation === undefined ? {} : { escalatedAt: now }),
    };
    const untold: Condition[] = [
      ...(reminder === undefined
        ? []
        : [{ kind: 'less-than', attribute: 'reminded', value: reminder } as const]),
      ...(escalation === undefined
        ? []
        : [{ kind: 'attribute-absent', attribute: 'escalatedAt' } as const]),
    ];
    const condition: Condition = { kind: 'all', of: [undecided, ...untold] };
    const outcome = await this.#table.transact([
      { kind: 'update', key: approvalKey(id), set, condition },
    ]);
    return outcome.kind === 'committed';
  }

  /** Takes the claim back when people could not be told, so that the next scan tells them. */
  async unclaimNotice({ id, reminded, remindedAt }: Approval, due: DueNotice): Promise<void> {
    const isReminder = due.reminder !== undefined;
    const set = {
      ...(isReminder ? { reminded } : {}),
      ...(isReminder && remindedAt !== undefined ? { remindedAt } : {}),
    };
    const remove = [
      ...(isReminder && remindedAt === undefined ? ['remindedAt'] : []),
      ...(due.escalation === undefined ? [] : ['escalatedAt']),
    ];
    await this.#table.transact([
      { kind: 'update', key: approvalKey(id), set, remove, condition: { kind: 'present' } },
    ]);
  }

  /** The token of the task that waits for the answer. Never log it or show it. */
  async tokenOf(id: string): Promise<string | undefined> {
    const item = await this.#table.get(tokenKey(id));
    return item === undefined ? undefined : textOf(item, 'taskToken');
  }
}

function byTime(a: Approval, b: Approval): number {
  return a.askedAt - b.askedAt || (a.id < b.id ? -1 : 1);
}

const undecided: Condition = {
  kind: 'all',
  of: [{ kind: 'present' }, { kind: 'attribute-absent', attribute: 'decidedAt' }],
};

function tokenWrite(id: string, { taskToken, deadline }: ApprovalRequest): Write {
  return { kind: 'put', item: { ...tokenKey(id), taskToken, ttl: ttlOf(deadline) } };
}

function alreadyDecided(decided: Decided): DecideOutcome {
  return { kind: 'already-decided', ...decided };
}
