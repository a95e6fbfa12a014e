import { PublishCommand, type SNSClient } from '@aws-sdk/client-sns';
import { messageOf, NodegapError } from '../errors.ts';
import type { Notice, Notifier } from '../ports.ts';
import { printable, printableLines } from '../printable.ts';

/** SNS documents "less than 100 characters" for a subject. */
const MAX_SUBJECT_LENGTH = 99;
/** Limit of a message, attributes included. Room for these is left. */
const MAX_BODY_BYTES = 250_000;

/** Tells people over an SNS topic; the attributes are there for subscription filters. */
export class SnsNotifier implements Notifier {
  readonly #client: SNSClient;
  readonly #topicArn: string;

  constructor(client: SNSClient, topicArn: string) {
    this.#client = client;
    this.#topicArn = topicArn;
  }

  /** @throws NodegapError `Notice.Unavailable` when it could not be published. */
  async notify(notice: Notice): Promise<void> {
    try {
      await this.#publish(notice);
    } catch (cause) {
      throw new NodegapError('Notice.Unavailable', `a notice was not sent: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  async #publish(notice: Notice): Promise<void> {
    await this.#client.send(
      new PublishCommand({
        TopicArn: this.#topicArn,
        Subject: subjectOf(notice.subject),
        Message: bodyOf(printableLines(notice.body)),
        MessageAttributes: Object.fromEntries(
          Object.entries(noticeAttributes(notice)).map(([name, value]) => [
            name,
            { DataType: 'String', StringValue: value },
          ]),
        ),
      }),
    );
  }
}

/**
 * What subscriptions can filter by (docs/notifications.md), all of type String. At most 10: more
 * would keep a message from queues with raw delivery.
 * https://docs.aws.amazon.com/sns/latest/dg/sns-message-attributes.html
 */
export function noticeAttributes(notice: Notice): Record<string, string> {
  const { kind, severity, cluster, thread, node, pool, episode, escalation } = notice;
  const all = {
    kind,
    severity,
    cluster,
    thread,
    node,
    pool,
    episode: episode === undefined ? undefined : String(episode),
    escalation,
  };
  // SNS refuses an empty value.
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) =>
      value === undefined || value === '' ? [] : [[name, printable(value)]],
    ),
  );
}

/** SNS refuses anything but one line of ASCII that begins with a letter, digit or mark. */
function subjectOf(subject: string): string {
  const line = subject
    .replace(/\s+/g, ' ')
    .replace(/[^\x20-\x7e]/g, '?')
    .trim();
  return line.length > MAX_SUBJECT_LENGTH ? `${line.slice(0, MAX_SUBJECT_LENGTH - 3)}...` : line;
}

function bodyOf(body: string): string {
  const bytes = Buffer.from(body);
  if (bytes.length <= MAX_BODY_BYTES) return body;
  // A character cut in two at the end becomes a replacement character, which is dropped.
  const start = bytes
    .subarray(0, MAX_BODY_BYTES)
    .toString()
    .replace(/\uFFFD$/, '');
  return `${start}\n[cut here: the message has ${bytes.length} bytes]`;
}
