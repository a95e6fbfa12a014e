import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { planKustomize } from '../../../lib/prevention/generate/kustomize.ts';
import { planStartupTaints } from '../../../lib/prevention/generate/plan.ts';
import { patchYaml, planYaml } from '../../../lib/prevention/generate/yaml.ts';
import { found, read, writtenDaemonSet } from '../prevention-facts.ts';
import { clusterFacts, config, nodeGroup } from './facts.ts';

const facts = clusterFacts({ nodeGroups: read(nodeGroup) });
const plan = planStartupTaints(facts, config());

describe('the YAML', () => {
  const text = planYaml(plan);

  test('holds one patch for each object, tolerations first', () => {
    const documents = parseAllDocuments(text).map((document) => document.toJS());
    expect(
      documents.filter((each) => each !== null).map(({ kind, metadata }) => [kind, metadata.name]),
    ).toEqual([
      ['DaemonSet', 'ebs-csi-node'],
      ['DaemonSet', 'fluent-bit'],
      ['Deployment', 'cilium-operator'],
      ['NodePool', 'general'],
    ]);
  });

  test.each([
    'nodegap.dev/startup-fluent-bit:NoSchedule waits for logging/fluent-bit; taken off by nodegap',
    'Roll out in this order',
    'never for kubectl apply',
    'only its admit-nodes takes its taints off and the command line does not',
    'Take back in the other order',
    'past any disruption budget',
    'NodeGroup system',
  ])('says: %s', (words) => {
    expect(text.replaceAll(/\n# +/g, ' ')).toContain(words);
  });

  test('is the same each time', () => {
    expect(planYaml(planStartupTaints(facts, config()))).toBe(text);
  });

  test('says when there is nothing to change', () => {
    const none = planStartupTaints(clusterFacts({ daemonSets: [] }), config());
    expect(planYaml(none)).toMatch(/# Nothing to change\.\n$/);
    expect(planYaml(none)).not.toContain('In what was read');
    const unread = planYaml({ ...none, warnings: ['node groups could not be read'] });
    expect(unread).toMatch(
      /# In what was read \(mind the warnings above\):\n# Nothing to change\.\n$/,
    );
    expect(parse(planYaml(none))).toBeNull();
  });

  test('lets no name end its comments', () => {
    const hostile = writtenDaemonSet({ name: 'a\nkind: Secret', namespace: 'x' });
    const named = planStartupTaints(clusterFacts({ daemonSets: [found(hostile)] }), config());
    expect(planYaml(named).split('\n')).not.toContain('kind: Secret');
  });
});

describe('the Kustomize components', () => {
  const files = planKustomize(plan);

  test('name their files after the objects', () => {
    expect([...files.keys()]).toEqual([
      'tolerations/daemonset_kube-system_ebs-csi-node.yaml',
      'tolerations/daemonset_logging_fluent-bit.yaml',
      'tolerations/deployment_kube-system_cilium-operator.yaml',
      'tolerations/kustomization.yaml',
      'attachers/nodepool_general.yaml',
      'attachers/kustomization.yaml',
      'README.txt',
    ]);
  });

  test.each(['tolerations', 'attachers'])('%s lists each of its patches', (folder) => {
    const { kind, patches } = parse(files.get(`${folder}/kustomization.yaml`) ?? '');
    expect(kind).toBe('Component');
    const named = patches.map(({ path }: { path: string }) => `${folder}/${path}`);
    const rest = [...files.keys()].filter(
      (file) => file.startsWith(folder) && !file.endsWith('kustomization.yaml'),
    );
    expect(named).toEqual(rest);
    for (const file of named) expect(parse(files.get(file) ?? '')).toHaveProperty('spec.template');
  });

  test('come with the order of the roll-out and the recipes', () => {
    expect(files.get('README.txt')).toContain('- PATH/tolerations');
    expect(files.get('README.txt')).toContain('NodeGroup system');
  });
});

test('patches are the same to readers of YAML 1.1, as kubectl is one', () => {
  const spec = { template: { spec: { tolerations: [{ key: 'y', value: 'yes' }] } } };
  const text = patchYaml({
    kind: 'DaemonSet',
    apiVersion: 'apps/v1',
    name: 'on',
    spec,
    comments: [],
  });
  expect(parse(text, { version: '1.1' })).toMatchObject({ metadata: { name: 'on' }, spec });
});
