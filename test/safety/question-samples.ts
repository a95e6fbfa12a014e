import type { QuestionFacts } from '../../lib/safety/question-facts.ts';

const hour = 3_600_000;

/** The facts of a question about a node of Karpenter, asked at `at` (epoch ms). */
export function sampleFacts(at: number, overrides: Partial<QuestionFacts> = {}): QuestionFacts {
  return {
    cluster: 'prod',
    node: 'n1',
    asks: 'a person is asked before this node is drained (approvals.pools.db: always)',
    pool: 'db',
    zone: 'eu-west-1a',
    kind: 'karpenter',
    createdAt: at - 70 * hour,
    ready: true,
    faults: [
      {
        subject: 'kube-system/aws-node',
        text: 'kube-system/aws-node',
        cause: 'sandbox',
        blame: 'node',
        blameReason: '9 of 10 nodes run the same revision',
        since: at - hour / 2,
        message: 'failed to set up the network of the sandbox',
      },
    ],
    moreFaults: 0,
    answers: [
      { answer: 'approve', will: ['everything is read again', 'evict 2 pods'] },
      { answer: 'deny', will: ['the isolation is undone: uncordon'] },
    ],
    pods: {
      evict: { count: 2, first: [pod('shop/web-1'), pod('shop/web-2')] },
      skip: { count: 1, first: [pod('kube-system/aws-node-x', 'of a DaemonSet')] },
      blocked: {
        count: 1,
        first: [pod('shop/db-0', 'PodDisruptionBudget shop/db allows 0 disruptions')],
      },
      needsApproval: {
        count: 1,
        first: [pod('shop/tool', 'has no controller: nothing brings the pod back elsewhere')],
      },
      leaving: { count: 0, first: [] },
    },
    budgets: ['shop/db allows 0 disruptions now, and is over 1 pod of this node'],
    unread: [],
    readAt: at,
    deadline: at + 12 * hour,
    ...overrides,
  };
}

function pod(name: string, why = ''): { pod: string; why: string } {
  return { pod: name, why };
}
