/** The questions of an attempt, answered by the person at the terminal. */
import { type Answer, type Approval, Approvals } from '../../lib/safety/approvals.ts';
import type { Embedded } from '../embedded.ts';
import type { AskPerson } from './events.ts';
import type { Session } from './session.ts';

export interface Consent {
  /** Absent without a terminal to ask in. */
  ask?: AskPerson;
  /** `--yes`: the person has agreed before. */
  yes: boolean;
}

export class Questions {
  readonly #session: Session;
  readonly #consent: Consent;
  readonly #nodegap: () => Embedded;
  readonly #over = new AbortController();
  #retried = false;

  constructor(session: Session, consent: Consent, nodegap: () => Embedded) {
    this.#session = session;
    this.#consent = consent;
    this.#nodegap = nodegap;
  }

  /** No question is put any more, and one that is put is taken back. */
  close(): void {
    this.#over.abort();
  }

  /** Puts a question that the machine waits for, and hands on what became of it. */
  async put(id: string): Promise<void> {
    const { state, clock, tell } = this.#session;
    const newId = () => id;
    const approval = await new Approvals(state.table, clock, { newId }).get(id);
    if (approval === undefined || this.#over.signal.aborted) return;
    tell({ kind: 'asked', approval });
    const decision = await this.#answerTo(approval);
    if (this.#over.signal.aborted) return;
    const by = this.#by;
    tell({ kind: 'decided', approval, decision: decision ?? 'none', by });
    // No answer is a no, and nobody else can give one.
    if (decision === undefined) this.#nodegap().workflow.giveUpWaiting(approval.execution);
    else await this.#nodegap().decide(id, decision, by, 'terminal');
  }

  get #by(): string {
    const { user, host } = this.#session.runner;
    return `${user}@${host}`;
  }

  async #answerTo(approval: Approval): Promise<Answer | undefined> {
    const { ask, yes } = this.#consent;
    if (!yes) return ask?.(approval, this.#over.signal);
    if (approval.question === 'replace') return 'approve';
    // To go on past budgets is more than was agreed to; the pods that ask for consent are not.
    if (this.#retried) return undefined;
    this.#retried = true;
    return 'retry';
  }
}
