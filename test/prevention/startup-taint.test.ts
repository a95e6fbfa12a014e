import { describe, expect, it } from 'vitest';
import type { RequiredDaemonSet } from '../../lib/config/model.ts';
import type { DaemonSet } from '../../lib/kubernetes/objects.ts';
import {
  startupNameOf,
  startupOwners,
  startupTaintKey,
  startupTaintName,
} from '../../lib/prevention/startup-taint.ts';

const named = (name: string, namespace = 'kube-system'): DaemonSet => ({
  metadata: { name, namespace, uid: `uid-${namespace}-${name}`, labels: { app: name } },
  spec: { selector: {}, template: { spec: {} } },
  status: {},
});
const config = (...requiredDaemonSets: RequiredDaemonSet[]) => ({ requiredDaemonSets });

describe('startup taints', () => {
  it('have a key of nodegap, from which their name can be read', () => {
    expect(startupTaintKey('cni')).toBe('nodegap.dev/startup-cni');
    expect(startupTaintName({ key: 'nodegap.dev/startup-cni' })).toBe('cni');
    expect(startupTaintName({ key: 'nodegap.dev/daemonset-gap' })).toBeUndefined();
    expect(startupTaintName({ key: 'node.cilium.io/agent-not-ready' })).toBeUndefined();
  });

  it('are named after the DaemonSet, unless its entry names them', () => {
    const entries = config(
      { by: 'name', name: 'aws-node', action: 'replace', startupTaint: 'cni' },
      { by: 'name', name: 'kube-proxy', action: 'alert' },
    );
    expect(startupNameOf(entries, named('aws-node'))).toBe('cni');
    expect(startupNameOf(entries, named('kube-proxy'))).toBe('kube-proxy');
    expect(startupNameOf(entries, named('fluent-bit'))).toBeUndefined();
  });

  it('have no name where that of the DaemonSet is too long for a taint', () => {
    const entries = config({ by: 'selector', selector: 'app', action: 'replace' });
    expect(startupNameOf(entries, named('a'.repeat(55)))).toBe('a'.repeat(55));
    expect(startupNameOf(entries, named('a'.repeat(56)))).toBeUndefined();
  });

  it('wait for every DaemonSet that bears their name', () => {
    const [a, b] = [named('agent', 'a'), named('agent', 'b')];
    const entries = config({ by: 'name', name: 'agent', action: 'replace' });
    expect(startupOwners(entries, [a, b, named('other')])).toEqual(new Map([['agent', [a, b]]]));
  });
});
