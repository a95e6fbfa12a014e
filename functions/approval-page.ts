import { messageOf } from '../lib/errors.ts';
import { answerOf } from '../lib/remediation/answer.ts';
import { checkForm } from '../lib/report/approval-page/check-form.ts';
import {
  answeredPage,
  expiredPage,
  pageHeaders,
  plainPage,
  questionPage,
  takenPage,
  unheardPage,
} from '../lib/report/approval-page/page.ts';
import { opens } from '../lib/safety/approval-links.ts';
import { type Approval, Approvals, type PersonAnswer } from '../lib/safety/approvals.ts';
import { awsPorts, lambdaHandler, workflow } from './shared/aws-ports.ts';
import { largestForm, type PageRequest, readForm, readRequest } from './shared/page-request.ts';
import type { Ports } from './shared/ports.ts';

/** What an HTTP API makes a response of. */
export interface PageResponse {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
}

/** Far longer than an id, and shorter than a key that the table refuses. */
const longestId = 100;

type PagePorts = Pick<Ports, 'clock' | 'config' | 'table' | 'workflow' | 'log' | 'newId'>;

/**
 * The page behind the link of a notice. GET and HEAD show the question and decide nothing, whatever
 * the address says; a POST with an answer, a name and a typed confirmation decides once, by the same
 * conditional update as the CLI. Never logs a path, a header or a body: the secret is in the path.
 */
export function makeHandler(ports: PagePorts) {
  return async (event: unknown): Promise<PageResponse> => {
    const request = readRequest(event);
    const answer = await answered(ports, request);
    // The answer to HEAD has what GET has, without the body.
    return request.method === 'HEAD' ? { ...answer, body: '' } : answer;
  };
}

async function answered(ports: PagePorts, request: PageRequest): Promise<PageResponse> {
  const { method, id } = request;
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
    const page = plainPage('This cannot be done here', 'Open the link of the notice in a browser.');
    return respond(405, page, { allow: 'GET, HEAD, POST' });
  }
  try {
    const { config } = await ports.config();
    const known = id.length <= longestId && (await opens(ports.table, id, request.secret));
    const approvals = new Approvals(ports.table, ports.clock, { newId: ports.newId });
    const approval = known && config.approvals.link ? await approvals.get(id) : undefined;
    if (approval === undefined) return nowhere();
    return method === 'POST'
      ? await take(ports, approvals, approval, request)
      : show(approval, ports.clock.now());
  } catch (error) {
    ports.log.error('the approval page failed', { approval: id, error: messageOf(error) });
    const message =
      'Send it again in a minute, or answer by the CLI: nodegap approvals list. An answer that was stored already stays, and is handed on when it is sent again.';
    return respond(503, plainPage('This did not work', message), { 'retry-after': '60' });
  }
}

/** The same for an unknown question, a wrong secret and a page that is switched off. */
function nowhere(): PageResponse {
  const message =
    'There is no such question, or the link is not whole. Copy all of it from the notice, or see what waits by the CLI: nodegap approvals list.';
  return respond(404, plainPage('This link leads nowhere', message));
}

function show(approval: Approval, now: number): PageResponse {
  if (approval.decided !== undefined) {
    return respond(200, answeredPage(approval, approval.decided, now));
  }
  if (now >= approval.deadline) return respond(410, expiredPage(approval, now));
  return respond(200, questionPage(approval, now));
}

async function take(
  ports: PagePorts,
  approvals: Approvals,
  approval: Approval,
  { address, body, contentType }: PageRequest,
): Promise<PageResponse> {
  const at = ports.clock.now();
  const refuse = 'Nothing was taken. Open the link of the notice again and use its form.';
  if (contentType !== 'application/x-www-form-urlencoded') {
    return respond(415, plainPage('This is not the form', refuse));
  }
  if (body.length > largestForm) return respond(413, plainPage('This is too much', refuse));
  if (approval.decided === undefined && at >= approval.deadline) {
    return respond(410, expiredPage(approval, at));
  }
  const form = checkForm(approval, readForm(body));
  if (form.kind === 'problems') {
    return approval.decided === undefined
      ? respond(422, questionPage(approval, at, form))
      : respond(409, answeredPage(approval, approval.decided, at));
  }
  const decided: PersonAnswer = {
    decision: form.decision,
    by: form.name,
    at,
    via: 'link',
    address,
  };
  const outcome = await approvals.decide(approval.id, decided);
  if (outcome.kind === 'not-found') return nowhere();
  if (outcome.kind === 'expired') return respond(410, expiredPage(approval, at));
  if (outcome.kind === 'already-decided') {
    // Its delivery may have been lost on the way: delivering it again does no harm.
    const token = await approvals.tokenOf(approval.id);
    if (token !== undefined) await ports.workflow.answer(token, { ...answerOf(outcome) });
    return respond(409, answeredPage(approval, outcome, at));
  }
  const waited = await ports.workflow.answer(outcome.taskToken, { ...answerOf(decided) });
  const { cluster, node, nodeUid, episode, attempt, execution, question } = approval;
  const ids = { cluster, node, nodeUid, episode, attempt, execution };
  const { decision, by, via } = decided;
  const told = { question, approval: approval.id, decision, by, via, address, waited };
  ports.log.info('approval answered', { ...ids, ...told });
  return waited
    ? respond(200, takenPage(approval, decided, at))
    : respond(409, unheardPage(approval, at));
}

function respond(
  statusCode: number,
  body: string,
  more: Record<string, string> = {},
): PageResponse {
  return { statusCode, headers: { ...pageHeaders, ...more }, body };
}

export const handler = lambdaHandler(() => awsPorts({ workflow }), makeHandler);
