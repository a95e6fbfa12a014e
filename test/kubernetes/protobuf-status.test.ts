import { PbfWriter } from 'pbf';
import { describe, expect, it } from 'vitest';
import { errorFromAnswer } from '../../lib/kubernetes/errors.ts';
import { withJsonStatus } from '../../lib/kubernetes/protobuf/status.ts';

/** A refusal in protobuf, as an API server of the kind sends it. */
function refusal(): Buffer {
  const raw = new PbfWriter();
  raw.writeMessage(1, () => {}, undefined);
  raw.writeStringField(2, 'Failure');
  raw.writeStringField(3, 'nodes is forbidden: User "x" cannot list resource "nodes"');
  raw.writeStringField(4, 'Forbidden');
  raw.writeMessage(
    5,
    (_details, pbf) => {
      pbf.writeStringField(3, 'nodes');
      pbf.writeVarintField(5, 7);
    },
    undefined,
  );
  raw.writeVarintField(6, 403);
  const envelope = new PbfWriter();
  envelope.writeBytesField(2, raw.finish());
  return Buffer.concat([Buffer.from('k8s\0'), envelope.finish()]);
}

const answer = (body: Buffer, type = 'application/vnd.kubernetes.protobuf') => ({
  status: 403,
  headers: { 'content-type': type },
  body,
});

describe('a refusal in protobuf', () => {
  it('is told like one in JSON', () => {
    const readable = withJsonStatus(answer(refusal()));
    expect(JSON.parse(readable.body.toString())).toEqual({
      status: 'Failure',
      message: 'nodes is forbidden: User "x" cannot list resource "nodes"',
      reason: 'Forbidden',
      details: { kind: 'nodes', retryAfterSeconds: 7 },
      code: 403,
    });
    const error = errorFromAnswer({ method: 'GET', path: '/api/v1/nodes' }, readable);
    expect(error.message).toMatch(/^not allowed to list nodes: nodes is forbidden/);
    expect(error.hint).toContain('nodegap rbac');
  });

  it.each([
    ['JSON', answer(Buffer.from('{"reason":"Forbidden"}'), 'application/json')],
    ['cut', answer(refusal().subarray(0, 30))],
    ['something else', answer(Buffer.from('<html>'))],
  ])('stays as it is when it is %s', (_what, received) => {
    expect(withJsonStatus(received)).toBe(received);
  });
});
