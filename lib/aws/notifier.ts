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
    const { cluster, kind, node } = notice;
    const attributes = { cluster, kind, ...(node === undefined ? {} : { node }) };
    await this.#client.send(
      new PublishCommand({
        TopicArn: this.#topicArn,
        Subject: subjectOf(notice.subject),
        Message: bodyOf(printableLines(notice.body)),
        MessageAttributes: Object.fromEntries(
          Object.entries(attributes).map(([name, value]) => [
            name,
            { DataType: 'String', StringValue: printable(value) },
          ]),
        ),
      }),
    );
  }
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
