/** Label and field selectors of list requests. */
import { parseSelector, selectorMatches } from '../../../lib/config/selector.ts';
import type { Kinds, Resource } from '../resources.ts';
import { badRequest } from './status.ts';

type Field<R extends Resource> = (object: Kinds[R]) => string;

const always = {
  'metadata.name': ({ metadata }: Kinds[Resource]) => metadata.name,
};
const namespaced = {
  ...always,
  'metadata.namespace': ({ metadata }: Kinds[Resource]) => metadata.namespace ?? '',
};

/** The fields that the API server selects by; every other one is refused. */
const fields: { [R in Resource]: Record<string, Field<R>> } = {
  nodes: {
    ...always,
    'spec.unschedulable': ({ spec }) => String(spec.unschedulable ?? false),
  },
  pods: {
    ...namespaced,
    'spec.nodeName': ({ spec }) => spec.nodeName ?? '',
    'spec.restartPolicy': () => 'Always',
    'spec.schedulerName': ({ spec }) => spec.schedulerName ?? '',
    'spec.hostNetwork': ({ spec }) => String(spec.hostNetwork ?? false),
    'status.phase': ({ status }) => status.phase ?? '',
    'status.nominatedNodeName': ({ status }) => status.nominatedNodeName ?? '',
  },
  events: {
    ...namespaced,
    'involvedObject.kind': ({ involvedObject }) => involvedObject.kind ?? '',
    'involvedObject.namespace': ({ involvedObject }) => involvedObject.namespace ?? '',
    'involvedObject.name': ({ involvedObject }) => involvedObject.name ?? '',
    'involvedObject.uid': ({ involvedObject }) => involvedObject.uid ?? '',
    reason: ({ reason }) => reason ?? '',
    type: ({ type }) => type ?? '',
  },
  daemonsets: namespaced,
  poddisruptionbudgets: namespaced,
  persistentvolumeclaims: namespaced,
  volumeattachments: always,
  nodeclaims: always,
  nodepools: always,
  configmaps: namespaced,
  leases: namespaced,
  namespaces: always,
};

export type Matcher<R extends Resource> = (object: Kinds[R]) => boolean;

/** Compiles `labelSelector` and `fieldSelector`; either may be empty. Throws a 400 StatusError. */
export function matcherOf<R extends Resource>(
  resource: R,
  labelSelector: string,
  fieldSelector: string,
): Matcher<R> {
  const byLabel = labelMatcher(labelSelector);
  const byField = fieldMatcher(resource, fieldSelector);
  return (object) => byLabel(object.metadata.labels ?? {}) && byField(object);
}

function labelMatcher(text: string): (labels: Record<string, string>) => boolean {
  if (text === '') return () => true;
  const parsed = parseSelector(text);
  if (!parsed.ok) throw badRequest(`unable to parse requirement: ${parsed.message}`);
  return (labels) => selectorMatches(parsed.requirements, labels);
}

function fieldMatcher<R extends Resource>(resource: R, text: string): Matcher<R> {
  if (text === '') return () => true;
  const terms = text.split(',').map((term) => {
    const match = /^([^=!]+)(==|=|!=)(.*)$/.exec(term);
    const [, name = '', operator, value = ''] = match ?? [];
    const field = fields[resource][name];
    if (match === null) throw badRequest(`invalid field selector: ${term}`);
    if (field === undefined) throw badRequest(`field label not supported: ${name}`);
    return (object: Kinds[R]) => (field(object) === value) === (operator !== '!=');
  });
  return (object) => terms.every((term) => term(object));
}
