/** The computers behind the nodes: EC2 instances and the kubelets on them. */
import type { InstanceReading } from '../../lib/observation-ports.ts';

export type InstanceState = 'running' | 'shutting-down' | 'terminated';

export interface Machine {
  /** `i-` and 17 hexadecimal digits. */
  instanceId: string;
  zone: string;
  node: string;
  state: InstanceState;
  /** Epoch ms. */
  launchedAt: number;
  /** A stopped kubelet neither reports nor starts or stops pods; the instance runs on. */
  kubeletRuns: boolean;
  /** When the kubelet was last heard of, once it runs no more. Epoch ms. */
  silentSince?: number;
  /** What EC2's status checks say while it runs; `ok` when absent. */
  checks?: 'ok' | 'impaired' | 'initializing' | 'insufficient-data';
}

export class Machines {
  readonly #byNode = new Map<string, Machine>();

  add(machine: Machine): void {
    this.#byNode.set(machine.node, machine);
  }

  get(node: string): Machine | undefined {
    return this.#byNode.get(node);
  }

  /** Every machine that ever was, terminated ones too, as EC2 shows them for a while. */
  list(): Machine[] {
    return [...this.#byNode.values()];
  }

  /** What EC2 says of an instance. */
  statusOf(instanceId: string): InstanceReading {
    const machine = this.list().find((known) => known.instanceId === instanceId);
    if (machine === undefined) return { kind: 'absent' };
    const { state, checks = 'ok' } = machine;
    if (state !== 'running') return { kind: 'not-running', state };
    switch (checks) {
      case 'ok':
        return { kind: 'ok' };
      case 'impaired':
        return { kind: 'impaired', checks: ['instance status'] };
      default:
        return { kind: 'undecided', status: checks };
    }
  }

  /** True when a kubelet works on that node. */
  kubeletAlive(node: string): boolean {
    const machine = this.#byNode.get(node);
    return machine?.state === 'running' && machine.kubeletRuns;
  }
}
