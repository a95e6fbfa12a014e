import { describe, expect, it } from 'vitest';
import { readUserData } from '../../../lib/prevention/checks/user-data.ts';

const own = 'nodegap.dev/startup-cni';

/** Taints as text, in the order in which they are found. */
function taints(userData: string): string[] {
  return readUserData(userData).taints.map(
    ({ key, value, effect }) => `${key}${value === undefined ? '' : `=${value}`}:${effect}`,
  );
}

describe('taints of user data', () => {
  it.each<[string, string, string[]]>([
    ['nothing', '', []],
    [
      'bootstrap.sh',
      `#!/bin/bash\n/etc/eks/bootstrap.sh prod-a --kubelet-extra-args '--node-labels=a=b --register-with-taints=${own}=true:NoSchedule,gpu:NoExecute'\n`,
      [`${own}=true:NoSchedule`, 'gpu:NoExecute'],
    ],
    [
      'a flag with a space',
      `kubelet --register-with-taints ${own}:NoSchedule`,
      [`${own}:NoSchedule`],
    ],
    ['a quoted flag', `--register-with-taints="${own}=:NoSchedule"`, [`${own}:NoSchedule`]],
    ['a comment', `#!/bin/bash\n# --register-with-taints=${own}:NoSchedule\n`, []],
    [
      'NodeConfig, in its configuration',
      [
        'apiVersion: node.eks.aws/v1alpha1',
        'kind: NodeConfig',
        'spec:',
        '  kubelet:',
        '    config:',
        '      registerWithTaints:',
        `        - { key: ${own}, effect: NoSchedule }`,
        '        - { key: gpu, value: "true", effect: NoExecute }',
      ].join('\n'),
      [`${own}:NoSchedule`, 'gpu=true:NoExecute'],
    ],
    [
      'NodeConfig, in a flag, in a MIME archive beside a script',
      [
        'MIME-Version: 1.0',
        'Content-Type: multipart/mixed; boundary="//"',
        '',
        '--//',
        'Content-Type: text/x-shellscript; charset="us-ascii"',
        '',
        '#!/bin/bash',
        'echo ready',
        '--//',
        'Content-Type: application/node.eks.aws',
        '',
        '---',
        'apiVersion: node.eks.aws/v1alpha1',
        'kind: NodeConfig',
        'spec:',
        '  kubelet:',
        '    flags:',
        `      - --register-with-taints=${own}:NoExecute`,
        '--//--',
      ].join('\r\n'),
      [`${own}:NoExecute`],
    ],
    [
      'a KubeletConfiguration that a script writes',
      [
        '#!/bin/bash',
        "cat > /etc/kubernetes/kubelet.yaml <<'EOF'",
        'kind: KubeletConfiguration',
        'registerWithTaints:',
        `  - key: ${own}`,
        '    effect: NoSchedule',
        'EOF',
        'systemctl restart kubelet',
      ].join('\n'),
      [`${own}:NoSchedule`],
    ],
    [
      'Bottlerocket, one value',
      `[settings.kubernetes]\ncluster-name = "prod-a"\n[settings.kubernetes.node-taints]\n"${own}" = "true:NoSchedule"\n[settings.host-containers.admin]\nenabled = true\n`,
      [`${own}=true:NoSchedule`],
    ],
    [
      'Bottlerocket, several values over lines',
      `[settings.kubernetes.node-taints]\n"${own}" = [\n  ":NoSchedule",\n  ":NoExecute",\n]\n`,
      [`${own}:NoSchedule`, `${own}:NoExecute`],
    ],
    ['another table of Bottlerocket', `[settings.kubernetes.node-labels]\n"${own}" = "a"\n`, []],
  ])('%s', (_, userData, expected) => {
    expect(taints(userData)).toEqual(expected);
    expect(readUserData(userData).unread).toBe(false);
  });

  it.each([
    ['a variable', '--register-with-taints=$TAINTS'],
    ['what a command says', '--register-with-taints="$(cat /etc/taints)"'],
    [
      'aliases without end',
      `a: &a [x, x]\nb: &b [${'*a,'.repeat(20)}]\nregisterWithTaints: [${'*b,'.repeat(20)}]\n`,
    ],
    ['YAML that does not parse', 'registerWithTaints:\n  - {key: x\n'],
  ])('are not known where they come from %s', (_, userData) => {
    expect(readUserData(userData)).toMatchObject({ taints: [], unread: true });
  });

  it('come with the labels', () => {
    expect(readUserData('--node-labels=pool=a,disk=ssd --v=2').labels).toEqual({
      pool: 'a',
      disk: 'ssd',
    });
    expect(readUserData('[settings.kubernetes.node-labels]\npool = "a"\n').labels).toEqual({
      pool: 'a',
    });
  });

  it.each([
    ['/etc/eks/bootstrap.sh prod-a --x', 'prod-a'],
    ['/etc/eks/bootstrap.sh "$CLUSTER"', undefined],
    ['[settings.kubernetes]\ncluster-name = "prod-a"', 'prod-a'],
    [
      'kind: NodeConfig\nspec:\n  cluster:\n    apiServerEndpoint: https://x\n    name: prod-a\n',
      'prod-a',
    ],
    ['kubelet --register-with-taints=a:NoSchedule', undefined],
  ])('tell the cluster: %s', (userData, expected) => {
    expect(readUserData(userData).cluster).toBe(expected);
  });

  it.each([
    ['/etc/eks/bootstrap.sh prod-a', true],
    ['kind: NodeConfig\napiVersion: node.eks.aws/v1alpha1', true],
    ['[settings.kubernetes]\ncluster-name = "x"', true],
    ['#!/bin/bash\napt-get update', false],
  ])('tell whether a node is made: %s', (userData, expected) => {
    expect(readUserData(userData).bootstraps).toBe(expected);
  });

  it('are read with the line ends of Windows', () => {
    const text = '[settings.kubernetes.node-taints]\r\n"a/b" = ["true:NoSchedule"]\r\n';
    expect(readUserData(text).taints).toEqual([
      { key: 'a/b', value: 'true', effect: 'NoSchedule' },
    ]);
  });

  it.each([
    'settings.kubernetes.node-taints."a/b" = "true:NoSchedule"',
    '[settings.kubernetes]\nnode-taints = { "a/b" = ["true:NoSchedule"] }',
  ])('are said to be unread in a form of TOML that is not known: %s', (text) => {
    expect(readUserData(text).unread).toBe(true);
  });
});
