import { stringify } from 'yaml';
import type { Command } from './processes.ts';
import { programPath } from './tools.ts';

/** Ports on 127.0.0.1, one for each server that listens. */
export interface Ports {
  etcd: number;
  etcdPeer: number;
  apiserver: number;
  controllerManager: number;
  scheduler: number;
  kwok: number;
  karpenterHealth: number;
  karpenterMetrics: number;
}

/** Where the files are that the components read and write. */
export interface Files {
  etcdData: string;
  /** The API server writes `apiserver.crt` and its key here. */
  certificates: string;
  caFile: string;
  tokens: string;
  serviceAccountKey: string;
  adminKubeconfig: string;
  schedulerConfig: string;
  kwokConfig: string;
  auditPolicy: string;
  auditLog: string;
}

/**
 * How long after the last lease renewal a node becomes NotReady. kwok renews every quarter of the
 * lease; on a busy machine a renewal may well be some seconds late.
 */
export const NODE_GRACE_SECONDS = 20;
const NODE_LEASE_SECONDS = 20;

export function etcd(ports: Ports, files: Files): Command {
  const client = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  return {
    name: 'etcd',
    path: programPath('etcd'),
    args: [
      '--name=default',
      `--data-dir=${files.etcdData}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      // Without peer settings of its own, a second etcd on this machine collides with the first.
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--unsafe-no-fsync',
      '--log-level=warn',
    ],
  };
}

export function apiserver(ports: Ports, files: Files): Command {
  return {
    name: 'kube-apiserver',
    path: programPath('kube-apiserver'),
    args: [
      `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
      `--cert-dir=${files.certificates}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${ports.apiserver}`,
      `--service-account-key-file=${files.serviceAccountKey}`,
      `--service-account-signing-key-file=${files.serviceAccountKey}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--authorization-mode=RBAC',
      `--token-auth-file=${files.tokens}`,
      '--disable-admission-plugins=ServiceAccount',
      // A loopback address cannot be an endpoint of the `kubernetes` Service.
      '--endpoint-reconciler-type=none',
      '--event-ttl=1h',
      `--audit-policy-file=${files.auditPolicy}`,
      `--audit-log-path=${files.auditLog}`,
      '--profiling=false',
    ],
  };
}

export function controllerManager(
  ports: Ports,
  files: Files,
  flags: readonly string[] = [],
): Command {
  return {
    name: 'kube-controller-manager',
    path: programPath('kube-controller-manager'),
    args: [
      `--kubeconfig=${files.adminKubeconfig}`,
      '--leader-elect=false',
      '--bind-address=127.0.0.1',
      `--secure-port=${ports.controllerManager}`,
      `--service-account-private-key-file=${files.serviceAccountKey}`,
      `--root-ca-file=${files.caFile}`,
      '--node-monitor-period=2s',
      `--node-monitor-grace-period=${NODE_GRACE_SECONDS}s`,
      '--kube-api-qps=200',
      '--kube-api-burst=400',
      // Of a flag that is given twice, the last one counts.
      ...flags,
    ],
  };
}

/** Flags of kube-controller-manager for so many requests a second. */
export function clientQpsFlags(qps: number): string[] {
  return [`--kube-api-qps=${qps}`, `--kube-api-burst=${2 * qps}`];
}

/** The scheduler's configuration: its only difference is that it tries again sooner. */
export function schedulerConfiguration(files: Files, qps = 200): string {
  return stringify({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    clientConnection: { kubeconfig: files.adminKubeconfig, qps, burst: 2 * qps },
    leaderElection: { leaderElect: false },
    podInitialBackoffSeconds: 1,
    podMaxBackoffSeconds: 2,
  });
}

export function scheduler(ports: Ports, files: Files): Command {
  return {
    name: 'kube-scheduler',
    path: programPath('kube-scheduler'),
    args: [
      `--config=${files.schedulerConfig}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${ports.scheduler}`,
    ],
  };
}

/** What kwok reads besides its Stages: on how many nodes, pods and leases it works at one time. */
export function kwokOptions(parallelism: number): string {
  return stringify({
    apiVersion: 'config.kwok.x-k8s.io/v1alpha1',
    kind: 'KwokConfiguration',
    options: {
      podPlayStageParallelism: parallelism,
      nodePlayStageParallelism: parallelism,
      nodeLeaseParallelism: parallelism,
    },
  });
}

export function kwok(ports: Ports, files: Files): Command {
  return {
    name: 'kwok',
    path: programPath('kwok'),
    args: [
      `--kubeconfig=${files.adminKubeconfig}`,
      `--config=${files.kwokConfig}`,
      '--manage-all-nodes=false',
      '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
      `--node-lease-duration-seconds=${NODE_LEASE_SECONDS}`,
      '--cidr=10.244.0.0/16',
      // It logs every renewal of every lease as INFO.
      '--v=WARN',
      `--server-address=127.0.0.1:${ports.kwok}`,
    ],
  };
}

export function karpenter(ports: Ports, files: Files): Command {
  return {
    name: 'karpenter',
    path: programPath('karpenter'),
    args: [
      '-disable-leader-election=true',
      `-health-probe-port=${ports.karpenterHealth}`,
      `-metrics-port=${ports.karpenterMetrics}`,
      '-batch-idle-duration=200ms',
      '-batch-max-duration=2s',
    ],
    env: { KUBECONFIG: files.adminKubeconfig, KUBERNETES_MIN_VERSION: '1.19.0-0' },
  };
}
