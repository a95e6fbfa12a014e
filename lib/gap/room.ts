/** Whether a pod could fit on its node at all, were it empty. */
import type { Container, Node, Pod } from '../kubernetes/objects.ts';
import { type Finding, podEvidence } from './finding.ts';

/** What every node has. A device that is short may be one whose plugin is not up. */
const resources = ['cpu', 'memory', 'ephemeral-storage'] as const;

/**
 * A finding that there is no room, when the pod asks for more than the node has in all: then no
 * drain makes room, and it is the template, or the size of the pool's machines, that has to change.
 */
export function withRoom(finding: Finding, pod: Pod, node: Node): Finding {
  if (finding.cause !== 'unschedulable-resources') return finding;
  const tooLarge = resources.flatMap((resource) => {
    const asked = askedFor(pod, resource);
    const has = node.status.allocatable?.[resource];
    const all = quantityOf(has);
    return asked === undefined || all === undefined || asked.sum <= all
      ? []
      : [{ resource, asked: asked.text, has: has ?? '' }];
  });
  if (tooLarge.length === 0) return finding;
  const said = tooLarge.map(
    ({ resource, asked, has }) => `it asks for ${asked} ${resource} and the node has ${has} in all`,
  );
  return {
    ...finding,
    message: `${finding.message}; ${said.join('; ')}`,
    evidence: [
      ...finding.evidence,
      ...tooLarge.flatMap(({ resource, asked, has }) => [
        podEvidence(
          pod,
          `spec.containers[].resources.requests[${resource}]`,
          asked,
          'the template asks for less, or the node is larger',
        ),
        {
          object: `node ${node.metadata.name}`,
          field: `status.allocatable[${resource}]`,
          value: has,
        },
      ]),
    ],
    hint: 'template',
  };
}

/** What runs at the same time: main containers and sidecars. */
function askedFor(pod: Pod, resource: string): { sum: number; text: string } | undefined {
  const sidecars = (pod.spec.initContainers ?? []).filter(
    ({ restartPolicy }) => restartPolicy === 'Always',
  );
  const requests = [...(pod.spec.containers ?? []), ...sidecars]
    .map((container: Container) => container.resources?.requests?.[resource])
    .filter((request) => request !== undefined);
  const amounts = requests.map(quantityOf).filter((amount) => amount !== undefined);
  // Of what cannot be read nothing is concluded.
  if (amounts.length === 0 || amounts.length < requests.length) return undefined;
  return { sum: amounts.reduce((sum, amount) => sum + amount, 0), text: requests.join(' + ') };
}

const scale: ReadonlyMap<string, number> = new Map([
  ['n', 1e-9],
  ['u', 1e-6],
  ['m', 1e-3],
  ['', 1],
  ['k', 1e3],
  ['M', 1e6],
  ['G', 1e9],
  ['T', 1e12],
  ['P', 1e15],
  ['E', 1e18],
  ['Ki', 2 ** 10],
  ['Mi', 2 ** 20],
  ['Gi', 2 ** 30],
  ['Ti', 2 ** 40],
  ['Pi', 2 ** 50],
  ['Ei', 2 ** 60],
]);

/** A quantity as a number (k8s.io/apimachinery pkg/api/resource); undefined when it is none. */
export function quantityOf(text: string | undefined): number | undefined {
  const parts = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([a-zA-Z]*))$/.exec(text ?? '');
  const factor = scale.get(parts?.[3] ?? '');
  if (parts === null || factor === undefined) return undefined;
  return Number(`${parts[1]}${parts[2] ?? ''}`) * factor;
}
