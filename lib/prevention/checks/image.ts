/** Images that say nothing about which program runs. */

import { printable } from '../../printable.ts';
import { quoted } from '../../report/shell.ts';
import { templatePatch } from './change.ts';
import { type AuditContext, type Checked, change, type Finding, listed } from './context.ts';

/** Tag of an image without digest: undefined when it is pinned, `latest` when none is written. */
export function floatingTag(image: string): string | undefined {
  if (image.includes('@')) return undefined;
  // What follows the last slash: a colon before it belongs to the port of a registry.
  const [, tag = ''] = (image.split('/').at(-1) ?? '').split(':');
  if (tag === '') return 'no tag';
  return tag === 'latest' ? 'tag latest' : undefined;
}

export function checkImages(context: AuditContext): Checked {
  const findings = context.required.flatMap(({ template, key, subject, object }): Finding[] => {
    const containers = [
      ...(template.initContainers ?? []).map((each) => ({ ...each, list: 'initContainers' })),
      ...(template.containers ?? []).map((each) => ({ ...each, list: 'containers' })),
    ];
    const floating = containers.flatMap(({ name, image, list }) => {
      const tag = image === undefined || image === '' ? undefined : floatingTag(image);
      return tag === undefined || image === undefined ? [] : [{ name, image, tag, list }];
    });
    if (floating.length === 0) return [];
    const named = floating.map(({ name, image, tag }) => `${name} (${image}, ${tag})`);
    const namespace = object.metadata.namespace ?? 'default';
    const labels = Object.entries(
      object.spec.selector.matchLabels ?? object.spec.template.metadata?.labels ?? {},
    )
      .map(([label, value]) => `${label}=${value}`)
      .join(',');
    const running = (name: string, list: string) => {
      const statuses = list === 'containers' ? 'containerStatuses' : 'initContainerStatuses';
      const path = `{.items[0].status.${statuses}[?(@.name=="${name}")].imageID}`;
      return `kubectl -n ${quoted(namespace)} get pods -l ${quoted(labels)} --field-selector status.phase=Running -o ${quoted(`jsonpath=${path}`)}`;
    };
    const commands = floating.map(
      ({ name, list }) =>
        `kubectl -n ${quoted(namespace)} set image daemonset/${quoted(object.metadata.name)} ${quoted(name)}="$(${running(name, list)})"`,
    );
    const lists = [...new Set(floating.map(({ list }) => list))];
    const pinned = Object.fromEntries(
      lists.map((list) => [
        list,
        floating
          .filter((each) => each.list === list)
          .map(({ name, image }) => ({ name, image: `${withoutTag(image)}@sha256:DIGEST` })),
      ]),
    );
    return [
      {
        check: 'image-not-pinned',
        severity: 'warning',
        subject,
        message: `${key} runs ${floating.length === 1 ? 'an image' : 'images'} that can change under it: ${listed(named)}`,
        why: 'Nodes pull whatever the tag means on the day they start: new nodes run another program than their peers, and one bad push breaks every node that joins, without a rollout that could stop or be rolled back.',
        change:
          context.facts.source === 'manifests'
            ? `${change(context, subject, 'DaemonSet', templatePatch(pinned))}\n# DIGEST is what runs now:\n${floating.map(({ name, list }) => `# ${printable(running(name, list))}`).join('\n')}`
            : `# Pins what runs now:\n${commands.join('\n')}`,
      },
    ];
  });
  return { findings, notChecked: [] };
}

function withoutTag(image: string): string {
  const cut = image.lastIndexOf('/') + 1;
  return image.slice(0, cut) + (image.slice(cut).split(':')[0] ?? '');
}
