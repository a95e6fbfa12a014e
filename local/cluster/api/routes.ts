/** From method and path to what is asked for. */
import { apiVersionOf, type Resource, resourceTable } from '../resources.ts';

export interface Route {
  resource: Resource;
  namespace: string | undefined;
  name: string | undefined;
  subresource: string | undefined;
}

/** The API versions that are served, with those of Karpenter only where it is installed. */
export function servedVersions(withKarpenter: boolean): string[] {
  const versions = new Set(resourceTable.map(apiVersionOf));
  if (!withKarpenter) versions.delete('karpenter.sh/v1');
  return [...versions];
}

/** The resource that a path names, or undefined when nothing is served there. */
export function routeOf(path: string, versions: string[]): Route | undefined {
  const segments = path.split('/').filter((segment) => segment !== '');
  const core = segments[0] === 'api';
  if (!core && segments[0] !== 'apis') return undefined;
  const apiVersion = core ? segments[1] : `${segments[1]}/${segments[2]}`;
  if (apiVersion === undefined || !versions.includes(apiVersion)) return undefined;
  const rest = segments.slice(core ? 2 : 3).map(decodeURIComponent);
  let namespace: string | undefined;
  if (rest[0] === 'namespaces' && rest.length > 2) {
    namespace = rest[1];
    rest.splice(0, 2);
  }
  const [plural, name, subresource, ...more] = rest;
  const entry = resourceTable.find(
    (candidate) => candidate.resource === plural && apiVersionOf(candidate) === apiVersion,
  );
  if (entry === undefined || more.length > 0) return undefined;
  if (namespace !== undefined && !entry.namespaced) return undefined;
  if (name !== undefined && entry.namespaced && namespace === undefined) return undefined;
  return { resource: entry.resource, namespace, name, subresource };
}

/** Bodies of the discovery paths that kubectl asks for first; undefined for any other path. */
export function discovery(path: string, versions: string[]): unknown {
  const trimmed = path.replace(/\/$/, '');
  if (trimmed === '/version') return { major: '1', minor: '34', gitVersion: 'v1.34.4' };
  if (trimmed === '/api') return { kind: 'APIVersions', versions: ['v1'] };
  if (trimmed === '/apis') {
    return {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: versions.flatMap((groupVersion) => {
        const [name, version] = groupVersion.split('/');
        if (version === undefined) return [];
        const preferred = { groupVersion, version };
        return [{ name, versions: [preferred], preferredVersion: preferred }];
      }),
    };
  }
  const groupVersion = /^\/(?:api|apis)\/(.+)$/.exec(trimmed)?.[1];
  if (groupVersion === undefined || !versions.includes(groupVersion)) return undefined;
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion,
    resources: resourceTable
      .filter((entry) => apiVersionOf(entry) === groupVersion)
      .map(({ resource, kind, namespaced }) => ({
        name: resource,
        singularName: kind.toLowerCase(),
        kind,
        namespaced,
        verbs: ['get', 'list'],
      })),
  };
}
