import type { Evidence } from '../../lib/evidence/document.ts';

/** A small document, with fields of its own where a test needs them. */
export function evidenceFixture(overrides: Partial<Evidence> = {}): Evidence {
  return {
    schemaVersion: 1,
    cluster: 'prod',
    node: 'node-1',
    nodeUid: 'uid-1',
    episode: 2,
    attempt: 3,
    phase: 'drain',
    at: '2026-11-29T12:00:00.000Z',
    execution: 'arn:aws:states:eu-west-1:111122223333:execution:m:e',
    installation: '111122223333/eu-west-1/nodegap',
    configSha256: 'abc',
    nodegap: '0.1.0',
    judgement: { message: 'kube-system/cni: crash-loop', faults: [] },
    objects: { node: { metadata: { name: 'node-1' } }, pods: [] },
    events: [],
    cut: [],
    ...overrides,
  };
}
