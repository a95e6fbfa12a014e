import { describe, expect, it } from 'vitest';
import { readEnvironment } from '../../functions/shared/environment.ts';

const env = {
  TABLE_NAME: 'nodegap-state',
  TOPIC_ARN: 'arn:aws:sns:eu-west-1:111122223333:nodegap',
  BUS_NAME: 'nodegap',
  INSTALLATION: '111122223333/eu-west-1/nodegap',
  AWS_REGION: 'eu-west-1',
};

describe('readEnvironment', () => {
  it('reads what every function gets', () => {
    expect(readEnvironment({ ...env, PATH: '/bin' })).toEqual(env);
  });

  it('reads machines and scan functions by network', () => {
    const machines = { public: 'arn:one', private: 'arn:two' };
    const read = readEnvironment({ ...env, STATE_MACHINES: JSON.stringify(machines) });
    expect(read.STATE_MACHINES).toEqual(machines);
    expect(read.SCAN_FUNCTIONS).toBeUndefined();
  });

  it.each(Object.keys(env))('names %s when it is missing or empty', (name) => {
    for (const value of [undefined, '']) {
      expect(() => readEnvironment({ ...env, [name]: value })).toThrow(
        expect.objectContaining({ code: 'BadEnvironment', message: expect.stringContaining(name) }),
      );
    }
  });

  it.each(['{', '[1]', '{"public": 1}', '"text"'])('refuses machines like %s', (text) => {
    expect(() => readEnvironment({ ...env, STATE_MACHINES: text })).toThrow(
      expect.objectContaining({
        code: 'BadEnvironment',
        message: 'environment variable STATE_MACHINES: is not a JSON object of strings',
      }),
    );
  });
});
