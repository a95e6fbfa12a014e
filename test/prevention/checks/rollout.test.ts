import { describe, expect, it } from 'vitest';
import { hostPortsOf } from '../../../lib/prevention/checks/host-ports.ts';
import { type Audited, agent, findings, node, said, unmade } from '../audited.ts';
import { notChecked, read } from '../prevention-facts.ts';

type Strategy = NonNullable<ReturnType<typeof agent>['spec']['updateStrategy']>;

const updating = (
  rollingUpdate?: Strategy['rollingUpdate'],
  more: Parameters<typeof agent>[0] = {},
) =>
  agent({
    ...more,
    spec: {
      ...more.spec,
      updateStrategy: { type: 'RollingUpdate', ...(rollingUpdate && { rollingUpdate }) },
    },
  });
const nodes = (count: number) =>
  read(...Array.from({ length: count }, (_, index) => node(`n${index}`)));

describe('update-on-delete', () => {
  it.each<[string, string[]]>([
    ['RollingUpdate', []],
    ['OnDelete', ['warning DaemonSet agent']],
  ])('%s', (type, expected) => {
    const daemonSets = [agent({ spec: { updateStrategy: { type } } })];
    expect(said('update-on-delete', { daemonSets })).toEqual(expected);
  });
});

describe('max-unavailable-empties-fleet', () => {
  const check = 'max-unavailable-empties-fleet';
  it.each<[string, number | string, number, string[]]>([
    ['a tenth of three', '10%', 3, []],
    ['all in per cent', '100%', 3, ['error DaemonSet agent']],
    ['all in per cent, of no node', '100%', 0, ['error DaemonSet agent']],
    ['half of two', '50%', 2, []],
    ['most of two, rounded up', '51%', 2, ['error DaemonSet agent']],
    ['as many as there are', 3, 3, ['error DaemonSet agent']],
    ['one of one', 1, 1, []],
    ['two of three', 2, 3, []],
  ])('%s', (_, maxUnavailable, count, expected) => {
    const daemonSets = [updating({ maxUnavailable })];
    expect(said(check, { daemonSets, facts: { nodes: nodes(count) } })).toEqual(expected);
  });

  it('counts only nodes where it runs', () => {
    const daemonSets = [
      updating({ maxUnavailable: 2 }, { template: { nodeSelector: { disk: 'ssd' } } }),
    ];
    const facts = {
      nodes: read(node('a', { disk: 'ssd' }), node('b', { disk: 'ssd' }), node('c')),
    };
    expect(said(check, { daemonSets, facts })).toEqual(['error DaemonSet agent']);
  });

  it('is not checked for a number without nodes, but for all of them in per cent', () => {
    const facts = { nodes: notChecked('no cluster') };
    expect(unmade(check, { daemonSets: [updating({ maxUnavailable: 5 })], facts })).toHaveLength(1);
    const all = { daemonSets: [updating({ maxUnavailable: '100%' })], facts };
    expect(said(check, all)).toEqual(['error DaemonSet agent']);
  });

  it.each<[number, string]>([
    [5, '"maxUnavailable":1'],
    [50, '"maxUnavailable":"10%"'],
  ])('proposes for %i nodes %s', (count, expected) => {
    const daemonSets = [updating({ maxUnavailable: '100%' })];
    const [finding] = findings(check, { daemonSets, facts: { nodes: nodes(count) } });
    expect(finding?.change).toContain(expected);
  });
});

describe('update-empties-nodes', () => {
  const hasty = { spec: { minReadySeconds: 0 } };
  const unprobed = {
    ...hasty,
    template: { containers: [{ name: 'main', image: 'example.com/agent:v1' }] },
  };
  it.each<[string, Audited, string[]]>([
    ['it waits for new pods to hold', { daemonSets: [updating()] }, []],
    ['it does not', { daemonSets: [updating({}, hasty)] }, ['note DaemonSet agent']],
    ['nor has it a probe', { daemonSets: [updating({}, unprobed)] }, ['warning DaemonSet agent']],
    ['it surges', { daemonSets: [updating({ maxSurge: 1, maxUnavailable: 0 }, hasty)] }, []],
  ])('%s', (_, audited, expected) => {
    expect(said('update-empties-nodes', audited)).toEqual(expected);
  });

  it.each<[string, Parameters<typeof agent>[0], boolean]>([
    ['on its own', hasty, true],
    ['on the network of the host', { ...hasty, template: { hostNetwork: true } }, false],
    [
      'with a folder of the host',
      { ...hasty, template: { volumes: [{ name: 'run', hostPath: { path: '/run' } }] } },
      false,
    ],
  ])('proposes surge where two pods fit on a node: %s', (_, more, expected) => {
    const [finding] = findings('update-empties-nodes', { daemonSets: [updating({}, more)] });
    expect(finding?.change.includes('maxSurge')).toBe(expected);
    expect(finding?.change).toContain('"minReadySeconds":30');
  });
});

describe('surge-with-host-port', () => {
  const ports = [{ containerPort: 9100, hostPort: 9100 }];
  it.each<[string, Audited, string[]]>([
    ['no port', { daemonSets: [updating({ maxSurge: 1 })] }, []],
    [
      'a port',
      { daemonSets: [updating({ maxSurge: 1 }, { container: { ports } })] },
      ['error DaemonSet agent'],
    ],
    ['no surge', { daemonSets: [updating({ maxSurge: '0%' }, { container: { ports } })] }, []],
    [
      'a port by the network of the host',
      {
        daemonSets: [
          updating(
            { maxSurge: '10%' },
            { container: { ports: [{ containerPort: 80 }] }, template: { hostNetwork: true } },
          ),
        ],
      },
      ['error DaemonSet agent'],
    ],
  ])('%s', (_, audited, expected) => {
    expect(said('surge-with-host-port', audited)).toEqual(expected);
  });

  it.each<[string, Parameters<typeof hostPortsOf>[0], number[]]>([
    ['a declared one', { containers: [{ name: 'a', ports }] }, [9100]],
    [
      'by the network of the host',
      { hostNetwork: true, containers: [{ name: 'a', ports: [{ containerPort: 80 }] }] },
      [80],
    ],
    ['none', { containers: [{ name: 'a', ports: [{ containerPort: 80 }] }] }, []],
    [
      'of a sidecar and not of an init container',
      {
        initContainers: [
          { name: 'a', ports: [{ containerPort: 1, hostPort: 1 }] },
          { name: 'b', restartPolicy: 'Always', ports: [{ containerPort: 2, hostPort: 2 }] },
        ],
      },
      [2],
    ],
  ])('host ports: %s', (_, template, expected) => {
    expect(hostPortsOf(template).map(({ port }) => port)).toEqual(expected);
  });
});

describe('host-port-clash', () => {
  const check = 'host-port-clash';
  const holder = (name: string, hostPort: number, more: Parameters<typeof agent>[0] = {}) =>
    agent({
      name,
      ...more,
      container: { ports: [{ containerPort: 8080, hostPort, ...more.container?.ports?.[0] }] },
    });
  const facts = { nodes: nodes(1) };
  it.each<[string, Audited, string[]]>([
    [
      'the same',
      { daemonSets: [holder('a', 9100), holder('b', 9100)], facts },
      ['error DaemonSet b'],
    ],
    ['another', { daemonSets: [holder('a', 9100), holder('b', 9101)], facts }, []],
    [
      'another protocol',
      {
        daemonSets: [
          holder('a', 53),
          holder('b', 53, { container: { ports: [{ protocol: 'UDP' }] } }),
        ],
        facts,
      },
      [],
    ],
    [
      'other addresses',
      {
        daemonSets: [
          holder('a', 53, { container: { ports: [{ hostIP: '127.0.0.1' }] } }),
          holder('b', 53, { container: { ports: [{ hostIP: '169.254.20.10' }] } }),
        ],
        facts,
      },
      [],
    ],
    [
      'on other nodes',
      {
        daemonSets: [
          holder('a', 53),
          holder('b', 53, { template: { nodeSelector: { 'kubernetes.io/os': 'windows' } } }),
        ],
        facts,
      },
      [],
    ],
  ])('%s', (_, audited, expected) => {
    expect(said(check, audited)).toEqual(expected);
  });

  it('is not checked when nothing tells whether they meet', () => {
    expect(unmade(check, { daemonSets: [holder('a', 1), holder('b', 1)] })).toHaveLength(1);
  });

  it('moves one of them to a port that is free', () => {
    const [finding] = findings(check, {
      daemonSets: [holder('a', 9100), holder('b', 9100)],
      facts,
    });
    expect(finding?.change).toContain(
      '"containers":[{"name":"main","ports":[{"containerPort":8080,"protocol":"TCP","hostPort":9101}]}]',
    );
  });
});
