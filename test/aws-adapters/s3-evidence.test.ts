import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { S3Evidence } from '../../lib/aws/s3-evidence.ts';
import { evidenceFixture } from '../evidence/fixture.ts';

const s3 = mockClient(S3Client);
const store = (region = 'eu-west-1') =>
  new S3Evidence(new S3Client({ region }), { bucket: 'kept', region });

const key = 'evidence/prod/uid-1/e2-a3-before-drain.json';

beforeEach(() => {
  s3.reset();
});

describe('evidence in a bucket', () => {
  it('is put under the key of its attempt, only where nothing is yet', async () => {
    s3.on(PutObjectCommand).resolves({});
    const evidence = evidenceFixture();
    expect(await store().save(evidence)).toEqual({
      location: `s3://kept/${key}`,
      link: `https://eu-west-1.console.aws.amazon.com/s3/object/kept?region=eu-west-1&prefix=${encodeURIComponent(key)}`,
    });
    const input = s3.commandCalls(PutObjectCommand)[0]?.args[0].input;
    expect(input).toMatchObject({
      Bucket: 'kept',
      Key: key,
      ContentType: 'application/json',
      IfNoneMatch: '*',
    });
    expect(JSON.parse(String(input?.Body))).toEqual(evidence);
  });

  it('that is there already counts as saved', async () => {
    const there = Object.assign(new Error('At least one of the pre-conditions did not hold'), {
      name: 'PreconditionFailed',
      $metadata: { httpStatusCode: 412 },
    });
    s3.on(PutObjectCommand).rejects(there);
    expect((await store().save(evidenceFixture())).location).toBe(`s3://kept/${key}`);
  });

  it('that the bucket does not take is an error that names the bucket', async () => {
    s3.on(PutObjectCommand).rejects(new Error('Access Denied'));
    await expect(store().save(evidenceFixture())).rejects.toMatchObject({
      code: 'Evidence.Unavailable',
      message: 'bucket kept did not take it: Access Denied',
    });
  });

  it('gives up on a bucket that does not answer', async () => {
    s3.restore();
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const client = new S3Client({
      region: 'eu-west-1',
      endpoint: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
      forcePathStyle: true,
      credentials: { accessKeyId: 'AKID', secretAccessKey: 'secret' },
    });
    const slow = new S3Evidence(client, { bucket: 'kept', region: 'eu-west-1', timeoutMs: 50 });
    await expect(slow.save(evidenceFixture())).rejects.toMatchObject({
      code: 'Evidence.Unavailable',
    });
    client.destroy();
    silent.closeAllConnections();
    silent.close();
  });

  it.each([
    ['cn-north-1', 'cn-north-1.console.amazonaws.cn'],
    ['us-gov-west-1', 'us-gov-west-1.console.amazonaws-us-gov.com'],
  ])('is linked in the console of %s', async (region, host) => {
    mockClient(S3Client).on(PutObjectCommand).resolves({});
    const { link = '' } = await store(region).save(evidenceFixture());
    expect(new URL(link).host).toBe(host);
  });
});
