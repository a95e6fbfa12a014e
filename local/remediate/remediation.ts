/**
 * `nodegap remediate` without its terminal: one attempt on one node, by the shipped machine over the
 * handlers that Lambda runs, in this process.
 *
 * How it works: scans until the fault is confirmed, takes the attempt, runs the machine while scans
 * and the heartbeat of its Lease go on beside it. A signal closes the gate between machine and
 * handlers (gate.ts): what has begun ends first, so that it is known whether ReplaceNode has
 * committed. Before the commit everything is undone; afterwards the machine goes on.
 */
import { messageOf, NodegapError } from '../../lib/errors.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { slotOn } from '../../lib/safety/slots.ts';
import { type Embedded, workflowHandlers } from '../embedded.ts';
import { begin, busyEnding, busyWith } from './begin.ts';
import type { Gate } from './gate.ts';
import { leftoversOf, leftoverText } from './leftovers.ts';
import { type HeldSlot, seemsAlive } from './liveness.ts';
import type { Questions } from './questions.ts';
import { freeAttempt, freeSlot, goodCodes, seize, verifyCommitted } from './resume.ts';
import type { Ending, Session } from './session.ts';
import { undo } from './undo.ts';
import { untilRipe } from './until-ripe.ts';

/** Exit codes of processes that a signal ended, as shells tell them. */
const signalCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
export type EndingSignal = keyof typeof signalCodes;

export interface RemediationParts {
  session: Session;
  embedded: Embedded;
  gate: Gate;
  questions: Questions;
  /** Ends the process at once. */
  exitNow(code: number): void;
}

export class Remediation {
  readonly #parts: RemediationParts;
  readonly #waits = new AbortController();
  readonly #beside = new AbortController();
  #signal: EndingSignal | undefined;
  #execution: string | undefined;
  /** Uid of the node whose slot this process took. */
  #held: string | undefined;
  #releasing = false;
  /** Another process has the slot, and says what becomes of the node. */
  #isLost = false;
  /** Only looks how another process's replacement ends. */
  #verifying = false;
  /** What came of the first signal; undefined when the machine goes on. */
  #interruption: Promise<Ending | undefined> = Promise.resolve(undefined);

  constructor(parts: RemediationParts) {
    this.#parts = parts;
  }

  /**
   * Works on a node until it is repaired, or until it is clear why not. Of a node that is gone
   * (undefined), only what was left under its name is ended.
   * @throws KubernetesError when the cluster cannot be read.
   */
  async run(name: string, node: Node | undefined, options: { resume: boolean }): Promise<Ending> {
    const { session } = this.#parts;
    try {
      const ended = await this.#endFormer(name, node, options);
      if (ended !== undefined) return ended;
      if (node === undefined) return { exitCode: 0, code: 'node-gone', message: `${name} is gone` };
      return (await this.#prepare(node, options)) ?? (await this.#attempt(node));
    } catch (error) {
      if (this.#signal === undefined || !this.#waits.signal.aborted) throw error;
      const message = this.#verifying
        ? `the replacement of ${name} was committed and goes on in the cluster; look again later: ${session.commandOf('remediate', `${name} --resume`)}`
        : `nothing was done to ${name}`;
      session.tell({ kind: 'interrupted', message });
      return this.#interrupted(message);
    } finally {
      this.#beside.abort();
      this.#parts.questions.close();
    }
  }

  /** What a signal does: the first undoes or goes on, the second ends at once. */
  onSignal(signal: EndingSignal): void {
    const { session, exitNow } = this.#parts;
    if (this.#signal !== undefined) {
      session.tell({ kind: 'interrupted', message: `ended at once by ${signal}; ${this.#left()}` });
      exitNow(signalCodes[signal]);
      return;
    }
    this.#signal = signal;
    if (this.#execution === undefined) this.#waits.abort();
    else this.#interruption = this.#interrupt(signal);
  }

  /** Ends what was left on a node that is gone, whether or not another one bears its name now. */
  async #endFormer(
    name: string,
    node: Node | undefined,
    { resume }: { resume: boolean },
  ): Promise<Ending | undefined> {
    const { session, embedded } = this.#parts;
    for (const slot of await session.state.heldSlots()) {
      if (slot.node !== name || slot.nodeUid === node?.metadata.uid) continue;
      if (seemsAlive(slot, session.clock.now())) return busyEnding(slot);
      const isVerified = node === undefined && slot.committedAt !== undefined;
      if (!resume && !isVerified) {
        const nodes = node === undefined ? [] : [node];
        const left = leftoversOf(nodes, [slot], session.clock.now(), session.runner);
        const message = left.map((each) => leftoverText(each, session.commandOf)).join('; ');
        return { exitCode: 2, code: 'left-over', message };
      }
      const alive = await seize(session, slot, this.#waits.signal);
      if (alive !== undefined) return alive;
      if (slot.committedAt !== undefined) return this.#verify(slot);
      await freeSlot(session, embedded, slot);
    }
    return undefined;
  }

  /** Looks how a committed replacement ends, and shows meanwhile that somebody does. */
  async #verify(slot: HeldSlot): Promise<Ending> {
    const { session, embedded } = this.#parts;
    this.#verifying = true;
    this.onSlot(slot.nodeUid);
    return verifyCommitted(session, embedded, slot, this.#waits.signal);
  }

  /** Undefined when the attempt may be taken. */
  async #prepare(node: Node, { resume }: { resume: boolean }): Promise<Ending | undefined> {
    const { session, embedded } = this.#parts;
    const { uid, name } = node.metadata;
    const busy = await busyWith(session, uid);
    if (busy !== undefined) return busy;
    const slots = await session.state.heldSlots();
    const left = leftoversOf([node], slots, session.clock.now(), session.runner).find(
      ({ nodeUid }) => nodeUid === uid,
    );
    if (left !== undefined && !resume) {
      return { exitCode: 2, code: 'left-over', message: leftoverText(left, session.commandOf) };
    }
    if (left?.slot !== undefined) {
      const alive = await seize(session, left.slot, this.#waits.signal);
      if (alive !== undefined) return alive;
      if (left.slot.committedAt !== undefined) return this.#verify(left.slot);
      await freeSlot(session, embedded, left.slot);
    }
    const hadAttempt = await freeAttempt(session, uid);
    if (resume && left === undefined && !hadAttempt) {
      const message = `nothing is left over on ${name}`;
      return { exitCode: 0, code: 'nothing-left-over', message };
    }
    return untilRipe(session, embedded, node, this.#waits.signal);
  }

  async #attempt({ metadata: { name: node, uid: nodeUid } }: Node): Promise<Ending> {
    const { session, embedded } = this.#parts;
    const { config } = await embedded.ports.config();
    this.#waits.signal.throwIfAborted();
    const target = { node, nodeUid };
    const begun = await begin(session, embedded.workflow, config, target, this.#waits.signal);
    if (begun.kind === 'refused') return begun.ending;
    const { execution, input } = begun;
    this.#execution = execution;
    session.tell({ kind: 'started', execution, episode: input.episode, attempt: input.attempt });
    // A signal that came while the attempt was being taken.
    if (this.#signal !== undefined) this.#interruption = this.#interrupt(this.#signal);
    void embedded.scanUntil(session.cluster, this.#beside.signal, {
      onScan: () => undefined,
      onFailure: (error) => this.#tellUnlessOver(messageOf(error)),
    });
    let ending: Ending;
    try {
      ending = endingOf(await embedded.workflow.result(execution));
    } catch (error) {
      ending = { exitCode: 1, code: 'failed', message: this.#failure(error) };
    }
    return (await this.#interruption) ?? ending;
  }

  async #interrupt(signal: EndingSignal): Promise<Ending | undefined> {
    const { session, embedded, gate, questions } = this.#parts;
    const tell = (message: string) => session.tell({ kind: 'interrupted', message });
    const execution = this.#execution ?? '';
    tell(`${signal}: waiting for what is under way to end; a second signal ends at once`);
    await gate.close();
    if (await this.#hasCommitted(execution)) {
      tell(
        'the point of no return is passed: the replacement was committed and goes on in the cluster',
      );
      tell(`this process goes on looking how it ends; look again later: ${this.#resumeLine()}`);
      gate.open();
      return undefined;
    }
    this.#beside.abort();
    questions.close();
    embedded.workflow.abort(execution);
    gate.abandon();
    const { user, host } = session.runner;
    const because = `${user}@${host} ended it by ${signal}`;
    const handlers = workflowHandlers(embedded.ports);
    const { last } = gate;
    const isComplete =
      last === undefined || (await undo(handlers, session.state.table, last, because, tell));
    if (last === undefined) tell('nothing was done yet');
    if (!isComplete) tell(this.#left());
    return this.#interrupted(isComplete ? 'what was done was undone' : this.#left());
  }

  /** A call that failed on the way may have arrived: then the slot tells, and verification. */
  async #hasCommitted(execution: string): Promise<boolean> {
    const { session, gate } = this.#parts;
    const { last } = gate;
    if (last === undefined) return false;
    if (last.state.replacement?.next === 'requested') return true;
    const { cluster, nodeUid } = last.state;
    const slot = await slotOn(session.state.table, cluster, nodeUid).catch(() => undefined);
    return slot?.execution === execution && slot.committedAt !== undefined;
  }

  /** Shows that this process lives, from the moment on that it has the slot. */
  onSlot(nodeUid: string): void {
    const { state } = this.#parts.session;
    if (this.#held !== undefined) return;
    this.#held = nodeUid;
    void state
      .keepRenewing(nodeUid, this.#beside.signal, (error) => {
        this.#tellUnlessOver(`the Lease could not be renewed: ${messageOf(error)}`);
      })
      .then((outcome) => {
        if (outcome === 'lost' && !this.#releasing && !this.#verifying) this.#onLost();
      })
      .catch((error: unknown) => this.#tellUnlessOver(messageOf(error)));
  }

  /** Rejects unless the slot is surely still held; undefined while there is none. */
  hold(): Promise<void> | undefined {
    if (this.#held === undefined) return undefined;
    return this.#parts.session.state.hold(this.#held).catch((error: unknown) => {
      this.#isLost ||= error instanceof NodegapError && error.code === 'State.SlotHeld';
      throw error;
    });
  }

  /** The slot is being given back. */
  onRelease(): void {
    this.#releasing = true;
  }

  /** Nothing that a person answers counts any more: whoever has the slot goes on or undoes. */
  #onLost(): void {
    const { embedded, questions } = this.#parts;
    if (this.#beside.signal.aborted) return;
    this.#isLost = true;
    this.#tellUnlessOver(
      'another process took the slot of the node over, so this one does nothing more to it',
    );
    questions.close();
    embedded.workflow.giveUpWaiting(this.#execution ?? '');
  }

  #tellUnlessOver(message: string): void {
    if (this.#beside.signal.aborted) return;
    this.#parts.session.tell({ kind: 'scan-failed', message });
  }

  /** What the machine failed with when nothing could be undone or reported either. */
  #failure(error: unknown): string {
    const { slot } = this.#parts.gate.last?.state ?? {};
    const isLeft = slot?.next === 'acquired' && !this.#isLost;
    return isLeft ? `${messageOf(error)}; ${this.#left()}` : messageOf(error);
  }

  #interrupted(message: string): Ending {
    return { exitCode: signalCodes[this.#signal ?? 'SIGINT'], code: 'interrupted', message };
  }

  #resumeLine(): string {
    const node = this.#parts.gate.last?.state.node ?? 'NODE';
    return this.#parts.session.commandOf('remediate', `${node} --resume`);
  }

  /** The leftover of this very process, and what ends it. */
  #left(): string {
    const { session, gate } = this.#parts;
    if (gate.last === undefined) return 'nothing was done yet';
    const { node } = gate.last.state;
    return `${node} is left over as it is now; go on: ${this.#resumeLine()}; undo: ${session.commandOf('release', node)}`;
  }
}

/** From the final state of the machine. */
function endingOf(final: unknown): Ending {
  const { report } = final as { report: { code: string; message: string } };
  const { code, message } = report;
  return { exitCode: goodCodes.includes(code) ? 0 : 2, code, message };
}
