/** Puts together what works on one cluster at a terminal: handlers, machine, gate and questions. */
import type { Log } from '../../functions/shared/ports.ts';
import type { LoadedConfig } from '../../lib/config/model.ts';
import { messageOf } from '../../lib/errors.ts';
import type { EvidenceStore } from '../../lib/ports.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import { Embedded } from '../embedded.ts';
import type { AslDefinition } from '../workflow/definition.ts';
import type { TaskHandler, WorkflowEvent } from '../workflow/runner.ts';
import { Gate } from './gate.ts';
import { heldClient } from './held-client.ts';
import { statusElsewhere } from './liveness.ts';
import { type Consent, Questions } from './questions.ts';
import { Remediation } from './remediation.ts';
import { executionOf } from './runner-identity.ts';
import type { Session } from './session.ts';

export interface OpenOptions {
  session: Session;
  config: LoadedConfig;
  definition: AslDefinition;
  evidence: EvidenceStore;
  version: string;
  consent: Consent;
  random: () => number;
  newId: () => string;
  exitNow: (code: number) => void;
  /** Stands between the machine and a handler, inside the gate: tests end the process with it. */
  wrapHandler?: (name: string, handler: TaskHandler) => TaskHandler;
}

export function openRemediation(options: OpenOptions): Remediation {
  const { session, definition, wrapHandler } = options;
  const { clock, state, client, installation, runner } = session;
  const gate = new Gate(definition);
  const questions = new Questions(session, options.consent, () => embedded);
  const embedded = new Embedded({
    clock,
    config: options.config,
    definition,
    table: state.table,
    clients: { connect: async () => heldClient(client, () => remediation.hold()) },
    evidence: options.evidence,
    version: options.version,
    random: options.random,
    newId: options.newId,
    log: logOf(session),
    onNotice: (notice) => session.tell({ kind: 'notified', notice }),
    onWorkflow: (event) => tellState(session, event),
    // What dies here is told, and named by the next command on this cluster.
    losesStatusChanges: true,
    onlyWhenAsked: true,
    installation,
    executionOf: (_cluster, name) => executionOf(runner, name),
    statusElsewhere: async (execution) => statusElsewhere(await state.heldSlots(), execution),
    wrapHandler: (name, handler) => {
      const held = acting.has(name) ? whileHeld(session, handler) : handler;
      const wrapped = gate.wrap(name, wrapHandler?.(name, held) ?? held);
      if (name === 'release-slot') return thenFree(() => remediation, wrapped);
      if (name === 'request-approval') {
        return thenPut(questions, wrapped, (execution, error) => {
          session.tell({ kind: 'failed', state: 'WaitForPerson', message: messageOf(error) });
          // What could not be put or kept is no answer, and nobody else can give one.
          embedded.workflow.giveUpWaiting(execution);
        });
      }
      return name === 'acquire-slot' ? thenBeat(() => remediation, wrapped) : wrapped;
    },
  });
  const remediation: Remediation = new Remediation({
    session,
    embedded,
    gate,
    questions,
    exitNow: options.exitNow,
  });
  return remediation;
}

/** Handlers that change the node or its pods. */
const acting = new Set([
  'isolate-node',
  'restart-daemon-pod',
  'taint-node',
  'drain-node',
  'replace-node',
  'release-node',
]);

/** A process that slept may have been taken for dead: it acts only while the Lease is surely its own. */
function whileHeld({ state }: Session, handler: TaskHandler): TaskHandler {
  return async (event) => {
    const { nodeUid, slot } = (event as { state: WorkflowState }).state;
    if (slot?.next === 'acquired') await state.hold(nodeUid);
    return handler(event);
  };
}

/** Keeps the Lease of the slot alive from the moment on that it is there. */
function thenBeat(remediation: () => Remediation, acquire: TaskHandler): TaskHandler {
  return async (event) => {
    const result = (await acquire(event)) as { next: string };
    const { nodeUid } = (event as { state: WorkflowState }).state;
    if (result.next === 'acquired') remediation().onSlot(nodeUid);
    return result;
  };
}

/** From here on it is no surprise that the Lease is gone. */
function thenFree(remediation: () => Remediation, release: TaskHandler): TaskHandler {
  return (event) => {
    remediation().onRelease();
    return release(event);
  };
}

/** Puts the question to the person once it is kept. */
function thenPut(
  questions: Questions,
  ask: TaskHandler,
  onFailure: (execution: string, error: unknown) => void,
): TaskHandler {
  return async (event) => {
    const result = (await ask(event)) as { approval: string };
    questions.put(result.approval).catch((error: unknown) => {
      onFailure(String(event.execution), error);
    });
    return result;
  };
}

function tellState({ tell }: Session, { kind, state, type, error = '' }: WorkflowEvent): void {
  if (kind === 'entered') tell({ kind, state, type });
  // A question that nobody answered is told as the answer no, and is no failure.
  else if (kind === 'failed' && state.startsWith('WaitForPerson') && isTimeout(error)) return;
  // That it is tried again comes right after it, and says nothing of its own.
  else if (kind === 'failed') tell({ kind, state, message: error });
}

function isTimeout(error: string): boolean {
  return error.startsWith('States.Timeout:');
}

/** What handlers log is what they answered. */
function logOf({ tell }: Session): Log {
  const quiet = () => undefined;
  return {
    info(state, { result }) {
      const answer = (result ?? {}) as Record<string, unknown>;
      const { code, message } = answer;
      if (typeof code !== 'string' || typeof message !== 'string') return;
      tell({ kind: 'answered', state, code, message, result: answer });
    },
    warn: quiet,
    // The machine tells the same error when it retries or gives up.
    error: quiet,
  };
}
