/** Which ConfigMaps and Secrets a pod template is made of. */
import type { InputReference } from '../facts.ts';
import { type Raw, rawOf, rawsOf, textIn } from './raw.ts';

/** Every reference of the template, in the order in which they are written. */
export function inputReferences(podSpec: Raw): InputReference[] {
  return [
    ...containerInputs(podSpec, 'initContainers'),
    ...containerInputs(podSpec, 'containers'),
    ...rawsOf(podSpec.volumes).flatMap((volume, index) =>
      volumeInputs(volume, `volumes[${index}]`),
    ),
  ];
}

function containerInputs(podSpec: Raw, list: 'containers' | 'initContainers'): InputReference[] {
  return rawsOf(podSpec[list]).flatMap((container, index) => {
    const at = `${list}[${index}]`;
    const env = rawsOf(container.env).flatMap(({ valueFrom }, place) => {
      const from = rawOf(valueFrom);
      const where = `${at}.env[${place}]`;
      return [
        ...keyed('ConfigMap', rawOf(from.configMapKeyRef), where),
        ...keyed('Secret', rawOf(from.secretKeyRef), where),
      ];
    });
    const envFrom = rawsOf(container.envFrom).flatMap((from, place) => {
      const where = `${at}.envFrom[${place}]`;
      return [
        ...whole('ConfigMap', rawOf(from.configMapRef), 'name', where),
        ...whole('Secret', rawOf(from.secretRef), 'name', where),
      ];
    });
    return [...env, ...envFrom];
  });
}

function volumeInputs(volume: Raw, at: string): InputReference[] {
  return [
    ...mounted('ConfigMap', rawOf(volume.configMap), 'name', at),
    ...mounted('Secret', rawOf(volume.secret), 'secretName', at),
    ...rawsOf(rawOf(volume.projected).sources).flatMap((source, index) => {
      const where = `${at}.projected.sources[${index}]`;
      return [
        ...mounted('ConfigMap', rawOf(source.configMap), 'name', where),
        ...mounted('Secret', rawOf(source.secret), 'name', where),
      ];
    }),
  ];
}

type Kind = InputReference['kind'];

/** A volume takes the whole object, or the keys that it lists. */
function mounted(kind: Kind, from: Raw, nameField: string, at: string): InputReference[] {
  const items = rawsOf(from.items);
  if (items.length === 0) return whole(kind, from, nameField, at);
  return whole(kind, from, nameField, at).flatMap((reference) =>
    items.flatMap(({ key }) => (typeof key === 'string' ? [{ ...reference, key }] : [])),
  );
}

function whole(kind: Kind, from: Raw, nameField: string, at: string): InputReference[] {
  const name = textIn(from, nameField);
  return name === undefined ? [] : [{ kind, name, optional: from.optional === true, at }];
}

function keyed(kind: Kind, from: Raw, at: string): InputReference[] {
  const key = textIn(from, 'key');
  return whole(kind, from, 'name', at).map((reference) =>
    key === undefined ? reference : { ...reference, key },
  );
}
