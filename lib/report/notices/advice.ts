/** What a person can do about a reason code: an exact command or a place to look. Pure. */
import { quoted } from '../shell.ts';

export interface AdviceFor {
  cluster: string;
  node?: string | undefined;
  pool?: string | undefined;
  /** `namespace/name` of the DaemonSet that it is about. */
  daemonSet?: string | undefined;
}

/** Ends with the command that shows the whole reasoning, where there is a node to explain. */
export function adviceFor(code: string, about: AdviceFor): string[] {
  const { cluster, node, pool, daemonSet } = about;
  // A condition has no DaemonSet that could be mended.
  const isOfNode = node !== undefined && daemonSet === undefined;
  const known = advice[code] ?? '';
  const line = (known === mendDaemonSet && isOfNode ? describe : known).replace(
    /\{(\w+)\}/g,
    (_all, name: string) => {
      const value = { cluster, node, pool }[name];
      return value === undefined ? name.toUpperCase() : quoted(value);
    },
  );
  if (line === nothing) return [nothing];
  const words = (node === undefined ? [] : [node, daemonSet]).flatMap((word) =>
    word === undefined ? [] : [quoted(word)],
  );
  const explain =
    node === undefined
      ? `See: nodegap status --cluster ${quoted(cluster)}`
      : `See why: nodegap explain ${words.join(' ')}`;
  return line === '' ? [explain] : [line, explain];
}

const nothing = 'Nothing.';
const uncordon = 'Or put the node back into service: kubectl uncordon {node}';
const replaceYourself = `Replace the node yourself. ${uncordon}`;
const mendDaemonSet =
  'Mend the DaemonSet: its image, its template, or the ConfigMap or Secret that it reads.';
const describe = 'Look at the node: kubectl describe node {node}';
const rbac = 'Check what nodegap may read: nodegap rbac | kubectl diff -f -';
const grant = 'Give nodegap its rights; see what is missing: nodegap rbac | kubectl diff -f -';
const redeploy = 'Give the role its rights: cdk deploy';
const takeOff = (name: string) =>
  `When nodegap may act again: kubectl annotate node {node} ${name}-`;
const takeLabelOff = (name: string) =>
  `When nodegap may act again: kubectl label node {node} ${name}-`;
const awaitAws = 'Wait until AWS is done; nodegap goes on by itself.';
const group = `See the state of its Auto Scaling group in the EC2 console. ${uncordon}`;

/** By reason code; a test holds it against docs/reason-codes.md. */
export const advice: Record<string, string> = {
  replaced: nothing,
  recovered: nothing,
  denied: 'Nothing, unless the fault troubles you: nodegap request {node} --cluster {cluster}',
  'released-by-person':
    'Nothing, unless the fault troubles you: nodegap request {node} --cluster {cluster}',
  'drain-blocked': `Free the pods named above (raise their budget, move bare pods). ${uncordon}`,
  'replaced-by-person': replaceYourself,
  'no-claim': replaceYourself,
  'ceiling-isolate': mendDaemonSet,
  flapping: describe,
  'bad-replacement': mendDaemonSet,
  'deletion-stuck': 'Free what holds the deletion: kubectl get node,nodeclaim,volumeattachment',
  'verification-timed-out':
    'See what has no node: kubectl get pods -A --field-selector=status.phase=Pending',
  'verification-lost': 'Look at the node and its NodeClaim: kubectl get node,nodeclaim',
  failed: 'Look at the error above; docs/reason-codes.md says what each means.',
  'execution-lost': nothing,
  'execution-aborted': nothing,
  'execution-timed-out': 'Look at the history of the execution.',
  'execution-failed': 'Look at the history of the execution.',
  'evidence-unsaved': 'See that the evidence bucket is there and may be written to: cdk deploy',
  interrupted: nothing,
  superseded: nothing,
  unknown: 'Look at the history of the execution.',

  'blame-unclear': describe,
  'cause-unknown': describe,
  'observer-unknown': `${describe}`,
  'observer-unwell': 'Look at the control plane, and at the network between it and the nodes.',
  'bad-replacements': 'Look into the pool, then: nodegap reset --cluster {cluster} --pool {pool}',
  paused: 'When nodegap may act again: nodegap resume --cluster {cluster}',
  'breaker-tripped': 'When nodegap may act again: nodegap reset --cluster {cluster}',
  'zonal-shift': awaitAws,
  'eks-cluster-updating': awaitAws,
  'eks-node-group-updating': awaitAws,
  'aws-unreadable': redeploy,
  'mode-observe': 'If nodegap is to do it: set mode: act for the cluster in nodegap.yaml.',
  'cluster-not-configured': 'Bring the cluster back with mode: observe until nothing is isolated.',

  'not-required': 'If it is to count: name it in requiredDaemonSets of nodegap.yaml.',
  'ceiling-alert': mendDaemonSet,
  'hands-off': mendDaemonSet,
  'condition-since-isolation': nothing,
  'observer-disagrees': describe,
  'node-not-ready': describe,
  'blame-daemonset': mendDaemonSet,
  'blame-zone': 'Look at the zone: AWS Health, network, capacity.',
  'blame-cluster': 'Look at the control plane and at kube-controller-manager.',

  'auto-mode-deferred': describe,
  skip: takeOff('nodegap.dev/skip'),
  'do-not-repair': takeOff('karpenter.sh/do-not-repair'),
  'excluded-from-remediation': takeLabelOff('remediation.medik8s.io/exclude-from-remediation'),
  'skip-remediation': takeOff('cluster.x-k8s.io/skip-remediation'),
  unmanaged: 'When nodegap may act again, take the label of NVSentinel off the node.',
  'human-uncordoned': nothing,
  'mark-missing': nothing,
  'foreign-mark':
    'Let one installation of nodegap look after the cluster, and take it out of the other.',
  'unreadable-mark': `See what was done to the node, then: kubectl annotate node {node} nodegap.dev/isolation-`,
  'other-execution': nothing,
  'claim-mismatch': 'Compare: kubectl get node,nodeclaim -o wide',
  'out-of-service': describe,
  'medik8s-remediation': nothing,
  'medik8s-maintenance': 'End its NodeMaintenance when you are done.',
  'eks-repair-unreadable': redeploy,
  'remediations-unreadable': rbac,
  'claims-unreadable': rbac,

  'rights-missing': grant,

  'no-group': replaceYourself,
  'machine-unreadable': redeploy,
  'machine-unknown': describe,
  'machine-mismatch':
    'Compare providerID and zone of the node with the instance in the EC2 console.',
  'machine-of-operator': nothing,
  'machine-ending': describe,
  'machine-not-running': 'Start or end the instance in the EC2 console.',
  'machine-in-warm-pool': group,
  'machine-not-in-service': group,
  'machine-protected':
    'Take the scale-in protection off the instance, or replace the node yourself.',
  'group-deleting': group,
  'group-suspended': 'Resume Launch, Terminate and ReplaceUnhealthy of its Auto Scaling group.',
  'group-warm-pool': replaceYourself,
  'group-refreshing': awaitAws,
  'group-at-zero': group,
  'group-unsettled': group,
  'node-group-not-active': 'See in the EKS console what ails the node group.',
  'node-group-unknown': 'Look at the label eks.amazonaws.com/nodegroup of the node.',

  'heartbeat-stale': describe,
  'condition-stale': 'Look at the detector of the condition (node-problem-detector).',
  'condition-missing': 'Look at the detector of the condition (node-problem-detector).',
};
