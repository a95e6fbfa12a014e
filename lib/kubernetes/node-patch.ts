/** Parts of a JSON Patch of one node, on the very state that was read. */
import { NodegapError } from '../errors.ts';
import type { JsonPatchOperation } from '../ports.ts';
import type { Node, Taint } from './objects.ts';

/**
 * Makes the API server refuse the patch (409) unless the node still is the very state that was read.
 * @throws NodegapError `NodeWithoutVersion` for a node read without a resourceVersion.
 */
export function fence(node: Node): JsonPatchOperation[] {
  const { uid, name, resourceVersion } = node.metadata;
  // An empty resourceVersion means "whatever the state" to the API server: no fence at all.
  if (resourceVersion === undefined || resourceVersion === '') {
    throw new NodegapError(
      'NodeWithoutVersion',
      `node ${name} was read without metadata.resourceVersion, so it cannot be changed safely`,
      { hint: 'read the node by itself, not from a projected list' },
    );
  }
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
  ];
}

/** Sets an annotation, on a node that may have none yet. */
export function setAnnotation(node: Node, name: string, value: string): JsonPatchOperation {
  // JSON Patch cannot add a member to a map that is not there.
  return node.metadata.annotations === undefined
    ? { op: 'add', path: '/metadata/annotations', value: { [name]: value } }
    : { op: 'add', path: annotationPath(name), value };
}

/** Takes an annotation off that is there. */
export function removeAnnotation(name: string): JsonPatchOperation {
  return { op: 'remove', path: annotationPath(name) };
}

function annotationPath(name: string): string {
  return `/metadata/annotations/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** Gives the node this list of taints. Nothing when it has none and is to have none. */
export function setTaints(node: Node, taints: readonly Taint[]): JsonPatchOperation[] {
  if (taints.length > 0) return [{ op: 'add', path: '/spec/taints', value: taints }];
  return node.spec.taints === undefined ? [] : [{ op: 'remove', path: '/spec/taints' }];
}
