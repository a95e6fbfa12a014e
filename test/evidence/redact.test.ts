import { describe, expect, it } from 'vitest';
import {
  redactedEvent,
  redactedNode,
  redactedNodeClaim,
  redactedPod,
} from '../../lib/evidence/redact.ts';

const secret = 'hunter2';
const annotations = {
  'kubectl.kubernetes.io/last-applied-configuration': `{"env":"${secret}"}`,
  'vault.example/token': secret,
  'nodegap.dev/isolation': '{"cordoned":true}',
  'karpenter.sh/nodepool-hash': '123',
};

/** Everything in which a workload may say something that is nobody's business. */
const talkative = {
  metadata: {
    name: 'web-1',
    namespace: 'shop',
    uid: 'u1',
    labels: { app: 'web' },
    annotations,
    managedFields: [{ fieldsV1: { secret } }],
  },
  spec: {
    nodeName: 'node-1',
    unknownOfTheFuture: secret,
    securityContext: { seLinuxOptions: { user: secret } },
    hostAliases: [{ hostnames: [secret] }],
    volumes: [
      { name: 'conf', secret: { secretName: 'web-conf', items: [{ key: secret, path: secret }] } },
      { name: 'nfs', csi: { driver: 'nfs.csi', volumeAttributes: { password: secret } } },
    ],
    containers: [
      {
        name: 'web',
        image: 'web:1',
        command: ['/bin/web', `--password=${secret}`],
        args: [`--token=${secret}`],
        env: [
          { name: 'PASSWORD', value: secret },
          { name: 'KEY', valueFrom: { secretKeyRef: { name: 'web', key: 'key' } } },
        ],
        envFrom: [{ prefix: 'X_', configMapRef: { name: 'web-env' } }],
        readinessProbe: {
          periodSeconds: 5,
          httpGet: { path: '/', httpHeaders: [{ name: 'Authorization', value: secret }] },
        },
        livenessProbe: { exec: { command: ['check', secret] } },
        lifecycle: { preStop: { exec: { command: [secret] } } },
      },
    ],
  },
  status: {
    phase: 'Running',
    containerStatuses: [
      {
        name: 'web',
        ready: false,
        restartCount: 7,
        state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s' } },
        lastState: { terminated: { exitCode: 1, reason: 'Error', message: `panic: ${secret}` } },
      },
    ],
  },
};

describe('a pod in evidence', () => {
  const kept = redactedPod(talkative);

  it('holds no value that its workload wrote', () => {
    expect(JSON.stringify(kept)).not.toContain(secret);
  });

  it('says that there was something', () => {
    const spec = kept.spec as { containers: Record<string, unknown>[]; volumes: unknown[] };
    expect(spec.containers).toEqual([
      {
        name: 'web',
        image: 'web:1',
        command: '[redacted]: 2',
        args: '[redacted]: 1',
        env: [
          { name: 'PASSWORD', value: '[redacted]' },
          { name: 'KEY', valueFrom: { secretKeyRef: { name: 'web', key: 'key' } } },
        ],
        envFrom: [{ prefix: 'X_', configMapRef: { name: 'web-env' } }],
        readinessProbe: { by: 'httpGet', periodSeconds: 5 },
        livenessProbe: { by: 'exec' },
      },
    ]);
    expect(spec.volumes).toEqual([
      { name: 'conf', secret: { secretName: 'web-conf' } },
      { name: 'nfs', csi: { driver: 'nfs.csi' } },
    ]);
    expect(kept.metadata).toEqual({
      name: 'web-1',
      namespace: 'shop',
      uid: 'u1',
      labels: { app: 'web' },
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': '[redacted]',
        'vault.example/token': '[redacted]',
        'nodegap.dev/isolation': '{"cordoned":true}',
        'karpenter.sh/nodepool-hash': '123',
      },
    });
  });

  it('keeps what the kubelet says, and of what the container said how much it was', () => {
    expect(kept.status).toEqual({
      phase: 'Running',
      containerStatuses: [
        {
          name: 'web',
          ready: false,
          restartCount: 7,
          state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 5m0s' } },
          lastState: {
            terminated: { exitCode: 1, reason: 'Error', message: '[redacted]: 14 characters' },
          },
        },
      ],
    });
  });
});

describe('the call of a hook that failed', () => {
  // pkg/kubelet/lifecycle/handlers.go quotes the command line and what it wrote.
  const said = `Exec lifecycle hook ([/bin/sh -c curl -u ${secret}]) for Container "web" failed - error: x, message: "${secret}"`;

  it('is not kept in the state of its container', () => {
    const waiting = { reason: 'PostStartHookError', message: said };
    const pod = { status: { containerStatuses: [{ name: 'web', state: { waiting } }] } };
    const kept = redactedPod(pod);
    expect(JSON.stringify(kept)).not.toContain(secret);
    expect(kept.status).toEqual({
      containerStatuses: [
        {
          name: 'web',
          state: {
            waiting: {
              reason: 'PostStartHookError',
              message: `[redacted]: ${said.length} characters`,
            },
          },
        },
      ],
    });
  });

  it.each(['FailedPostStartHook', 'FailedPreStopHook'])('is not kept in an Event %s', (reason) => {
    const kept = redactedEvent({ reason, message: said, count: 3 });
    expect(kept).toEqual({ reason, message: `[redacted]: ${said.length} characters`, count: 3 });
  });

  it('leaves other Events as they are', () => {
    const event = { reason: 'BackOff', message: 'back-off 5m0s' };
    expect(redactedEvent(event)).toEqual(event);
  });
});

describe('a node and its claim in evidence', () => {
  it('keep their conditions, taints and versions', () => {
    const node = {
      metadata: { name: 'node-1', uid: 'u', annotations, managedFields: [secret] },
      spec: {
        providerID: 'aws:///eu-west-1a/i-0abc',
        taints: [{ key: 'k', effect: 'NoSchedule' }],
      },
      status: {
        conditions: [{ type: 'Ready', status: 'False' }],
        nodeInfo: { kubeletVersion: 'v1.34.1' },
        images: [{ names: [secret] }],
      },
    };
    const kept = redactedNode(node);
    expect(JSON.stringify(kept)).not.toContain(secret);
    expect(kept).toMatchObject({
      spec: node.spec,
      status: { conditions: node.status.conditions, nodeInfo: { kubeletVersion: 'v1.34.1' } },
    });
    const claim = redactedNodeClaim({
      metadata: { name: 'c', uid: 'c', annotations },
      spec: { nodeClassRef: { name: 'default' }, userData: secret },
      status: { nodeName: 'node-1', conditions: [] },
    });
    expect(JSON.stringify(claim)).not.toContain(secret);
    expect(claim).toMatchObject({ spec: { nodeClassRef: { name: 'default' } } });
  });

  it('of no known form are empty rather than wrong', () => {
    expect(redactedNode(undefined)).toEqual({ metadata: {}, spec: {}, status: {} });
    expect(redactedPod({ spec: { containers: 'no list' } })).toEqual({
      metadata: {},
      spec: {},
      status: {},
    });
  });
});
