/**
 * The second observer of a node that is called not Ready: EC2's status checks of its instance, and
 * the lease that its kubelet renews. Neither is asked of the node, and neither rests on the Ready
 * condition.
 *
 * Each has three answers, and the two are put together so that doubt always holds: one that
 * disagrees decides, then one that cannot tell.
 */
import { isoTime } from '../clock.ts';
import type { InstanceReading, LeaseReading } from '../observation-ports.ts';

export type Agreement = 'agrees' | 'disagrees' | 'unknown';

/** What the second observer says, in words with the facts. */
export interface Opinion {
  kind: Agreement;
  message: string;
}

export interface Observations {
  node: string;
  /** Status of the node's Ready condition. */
  ready: string;
  instance: InstanceReading;
  lease: LeaseReading;
}

/**
 * A kubelet renews its lease every 10 s, and the node controller takes it for silent after 50 s
 * (--node-monitor-grace-period since Kubernetes 1.32, 40 s before).
 */
export const leaseGraceMs = 50_000;

/** A clock this much ahead makes the time of a renewal worth nothing. */
const clockToleranceMs = 60_000;

/** Whether the second observer agrees, at `now` (epoch ms), that the node is not well. */
export function decide(observations: Observations, now: number): Opinion {
  const { node, ready } = observations;
  if (ready === 'True') {
    return disagrees(`node ${node} counts as Ready; another condition keeps the pod out`);
  }
  const opinions = [instanceOpinion(observations), leaseOpinion(observations, now)];
  const deciding =
    opinions.find(({ kind }) => kind === 'disagrees') ??
    opinions.find(({ kind }) => kind === 'unknown');
  return deciding ?? agrees(opinions.map(({ message }) => message).join('; '));
}

/** EC2 checks from outside whether the host works, and whether the instance answers. */
function instanceOpinion({ node, ready, instance }: Observations): Opinion {
  switch (instance.kind) {
    case 'impaired': {
      const since = instance.since === undefined ? '' : ` since ${isoTime(instance.since)}`;
      return agrees(`EC2 calls its ${instance.checks.join(' and ')} impaired${since}`);
    }
    case 'ok':
      return disagrees(
        `node ${node} is not Ready (${ready}), and EC2 finds nothing wrong with its instance: look at its kubelet and its network`,
      );
    case 'undecided':
      return unknown(`EC2 has not decided about its instance: status ${instance.status}`);
    case 'not-running':
      return unknown(
        `its instance is ${instance.state}: whoever did that, or the cloud controller, takes the node away`,
      );
    case 'absent':
      return unknown('EC2 knows no such instance: the cloud controller takes the node away');
    case 'unread':
      return unknown(`EC2 could not be asked about its instance: ${instance.reason}`);
  }
}

/**
 * A silent kubelet is what `Unknown` means. `False` is the kubelet's own word, which it can only say
 * while it lives: with a silent one, the node controller is late.
 */
function leaseOpinion({ node, ready, lease }: Observations, now: number): Opinion {
  if (lease.kind === 'unread') return unknown(`its lease could not be read: ${lease.reason}`);
  if (lease.kind === 'absent') return unknown(`there is no lease of node ${node}`);
  const age = now - lease.renewedAt;
  const renewed = `its kubelet renewed the lease at ${isoTime(lease.renewedAt)}`;
  if (age < -clockToleranceMs) return unknown(`${renewed}, which lies in the future`);
  const silent = age > leaseGraceMs;
  if (ready === 'False') {
    return silent
      ? unknown(`${renewed} and is silent since, which the Ready condition does not say yet`)
      : agrees(`its kubelet lives and says so itself`);
  }
  return silent
    ? agrees(`${renewed} and is silent since`)
    : disagrees(`node ${node} is called ${ready}, and ${renewed}: it lives`);
}

function agrees(message: string): Opinion {
  return { kind: 'agrees', message };
}

function disagrees(message: string): Opinion {
  return { kind: 'disagrees', message };
}

function unknown(message: string): Opinion {
  return { kind: 'unknown', message };
}
