/** A question that is asked, with a link to its page, and requests as an HTTP API sends them. */
import { makeHandler, type PageResponse } from '../../functions/approval-page.ts';
import { linkFor } from '../../functions/shared/approval-link.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { type Approval, Approvals, type Question } from '../../lib/safety/approvals.ts';
import type { QuestionFacts } from '../../lib/safety/question-facts.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { sampleFacts } from '../safety/question-samples.ts';

export const start = Date.parse('2026-11-30T12:00:00Z');
export const hour = 3_600_000;
export const node = 'ip-10-0-12-34.eu-west-1.compute.internal';
export const taskToken = 'task-token-of-the-waiting-state';

export interface Sent {
  /** Of the link when left out. */
  id?: string;
  secret?: string;
  body?: string;
  isBase64Encoded?: boolean;
  contentType?: string;
  headers?: Record<string, string>;
  query?: string;
}

export class AskedQuestion {
  readonly table = new MemoryTable();
  readonly logs: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  /** What waiting tasks were told. */
  readonly answers: { token: string; output: Record<string, unknown> }[] = [];
  readonly approvals: Approvals;
  now = start;
  /** What handing an answer on comes to. */
  handOn: () => boolean = () => true;
  id = '';
  link = '';
  secrets = 0;
  #config = configOf('approvals: { link: true }');

  constructor() {
    let ids = 0;
    const newId = () => `question-${++ids}`;
    this.approvals = new Approvals(this.table, this.clock, { newId });
  }

  get clock() {
    return { now: () => this.now };
  }

  async ask(question: Question = 'replace', facts: Partial<QuestionFacts> = {}): Promise<this> {
    const deadline = start + 12 * hour;
    this.id = await this.approvals.request({
      cluster: 'prod',
      node: facts.node ?? node,
      nodeUid: 'uid-1',
      episode: 1,
      attempt: 2,
      execution: 'arn:execution',
      question,
      facts: sampleFacts(start, { node, ...facts }),
      taskToken,
      deadline,
    });
    const link = await linkFor(this.#ports(), { id: this.id, deadline });
    if (link === undefined) throw new Error('there is no link');
    this.link = link;
    return this;
  }

  /** Publishes another configuration. */
  configure(yaml: string): void {
    this.#config = configOf(yaml);
  }

  get secret(): string {
    return new URL(this.link).pathname.split('/').at(-1) ?? '';
  }

  async read(): Promise<Approval> {
    const approval = await this.approvals.get(this.id);
    if (approval === undefined) throw new Error('the question is gone');
    return approval;
  }

  async send(method: string, sent: Sent = {}): Promise<PageResponse> {
    const { id = this.id, secret = this.secret, body, query = '' } = sent;
    return makeHandler(this.#ports())({
      version: '2.0',
      routeKey: 'ANY /approvals/{id}/{secret}',
      rawPath: `/approvals/${id}/${secret}`,
      rawQueryString: query,
      pathParameters: { id, secret },
      headers: {
        'content-type': sent.contentType ?? 'application/x-www-form-urlencoded',
        'x-forwarded-for': '6.6.6.6',
        ...sent.headers,
      },
      requestContext: { http: { method, sourceIp: '203.0.113.7' } },
      ...(body === undefined ? {} : { body }),
      isBase64Encoded: sent.isBase64Encoded ?? false,
    });
  }

  async post(fields: Record<string, string>, sent: Sent = {}): Promise<PageResponse> {
    // As an HTTP API hands on a body of this type.
    const body = Buffer.from(new URLSearchParams(fields).toString()).toString('base64');
    return this.send('POST', { body, isBase64Encoded: true, ...sent });
  }

  #ports() {
    const log = (level: string) => (message: string, fields: Record<string, unknown>) =>
      void this.logs.push({ level, message, fields });
    return {
      clock: this.clock,
      config: async () => this.#config,
      table: this.table,
      log: { info: log('info'), warn: log('warn'), error: log('error') },
      newId: () => 'unused',
      approvalPage: {
        url: 'https://page.example',
        newSecret: () => `secret-${++this.secrets}`.padEnd(43, 'x'),
      },
      workflow: {
        start: async () => 'exists' as const,
        status: async () => ({ kind: 'not-found' as const }),
        answer: async (token: string, output: Record<string, unknown>) => {
          this.answers.push({ token, output });
          return this.handOn();
        },
      },
    };
  }
}

function configOf(yaml: string) {
  return loadConfig(`clusters: [{ name: prod, region: eu-west-1 }]\n${yaml}\n`, 'nodegap.yaml');
}

/** What a person fills in to approve. */
export const approval = {
  decision: 'approve',
  name: 'Ann Example',
  confirm: 'approve ip-10-0-12-34',
};
