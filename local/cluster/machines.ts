/** The computers behind the nodes: EC2 instances and the kubelets on them. */
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

  /** True when a kubelet works on that node. */
  kubeletAlive(node: string): boolean {
    const machine = this.#byNode.get(node);
    return machine?.state === 'running' && machine.kubeletRuns;
  }
}
