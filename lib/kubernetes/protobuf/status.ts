import { PbfReader } from 'pbf';
import type { Answer } from '../errors.ts';
import { contentOf, isProtobuf } from './envelope.ts';
import { integer, many, message, one, text } from './fields.ts';

const cause = message({ 1: text('reason'), 2: text('message'), 3: text('field') });
const details = message({
  1: text('name'),
  2: text('group'),
  3: text('kind'),
  4: many('causes', cause),
  5: integer('retryAfterSeconds'),
  6: text('uid'),
});

/** metav1.Status (k8s.io/apimachinery meta/v1 generated.proto). */
const status = message({
  2: text('status'),
  3: text('message'),
  4: text('reason'),
  5: one('details', details),
  6: integer('code'),
});

/**
 * An answer whose Status can be read as JSON. Who asks for protobuf is refused in protobuf as well.
 * A body that is no Status stays as it is.
 */
export function withJsonStatus(answer: Answer): Answer {
  if (!isProtobuf(answer)) return answer;
  try {
    const content = contentOf(answer.body);
    if (typeof content === 'string') return answer;
    const reader = new PbfReader(content);
    return { ...answer, body: Buffer.from(JSON.stringify(status(reader, reader.length))) };
  } catch {
    // Cut in the middle: what came is told as it is, by the status code.
    return answer;
  }
}
