import { describe, expect, it } from 'vitest';
import { installations } from '../../cdk/installations.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { fleet } from './synthesis.ts';

function shape(text: string, deployingAccount?: string) {
  return installations(loadConfig(text, 'nodegap.yaml').config, deployingAccount).map(
    ({ account, region, networks }) => ({
      account,
      region,
      networks: networks.map(({ name, clusters }) => [name, clusters.map((each) => each.name)]),
    }),
  );
}

describe('installations', () => {
  it('groups clusters by account and region, then by network', () => {
    expect(shape(fleet)).toEqual([
      {
        account: '111111111111',
        region: 'eu-west-1',
        networks: [
          ['public', ['blue', 'teal']],
          ['inner', ['green']],
        ],
      },
      { account: '222222222222', region: 'us-east-1', networks: [['public', ['red']]] },
    ]);
  });

  const unnamed = `
clusters:
  - { name: a, region: eu-west-1 }
  - { name: b, region: eu-west-1, account: "111111111111" }
`;

  it('puts a cluster without account with those of the deploying account', () => {
    expect(shape(unnamed, '111111111111')).toEqual([
      { account: '111111111111', region: 'eu-west-1', networks: [['public', ['a', 'b']]] },
    ]);
  });

  it('keeps a cluster without account apart when the deploying account is not known', () => {
    expect(shape(unnamed).map(({ account }) => account)).toEqual([undefined, '111111111111']);
  });

  it('makes no set for a private network that no cluster uses', () => {
    const text = fleet.replace('    network: inner\n', '');
    expect(shape(text).flatMap(({ networks }) => networks.map(([name]) => name))).toEqual([
      'public',
      'public',
    ]);
  });
});
