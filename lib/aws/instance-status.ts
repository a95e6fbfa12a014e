/** EC2's status checks of instances, as the second observer of nodes. */
import { parseTime } from '../clock.ts';
import { messageOf, NodegapError } from '../errors.ts';
import type { InstanceReading, InstanceStatuses } from '../observation-ports.ts';
import { child, type Ec2Query, itemsOf, textOf, type XmlValue } from './ec2-query.ts';

/** At most so many ids are allowed in one call. */
const idsPerCall = 100;

/**
 * Reads by DescribeInstanceStatus with IncludeAllInstances, since it leaves out what is not running
 * otherwise: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstanceStatus.html
 */
export function createInstanceStatuses(query: Ec2Query): InstanceStatuses {
  const read = async (ids: readonly string[]): Promise<[string, InstanceReading][]> => {
    try {
      const found = readingsIn(
        await query('DescribeInstanceStatus', {
          IncludeAllInstances: 'true',
          ...Object.fromEntries(ids.map((id, index) => [`InstanceId.${index + 1}`, id])),
        }),
      );
      return ids.map((id) => [id, found.get(id) ?? { kind: 'absent' }]);
    } catch (error) {
      if (error instanceof NodegapError && error.code === 'Ec2.not-found') {
        if (ids.length === 1) return ids.map((id) => [id, { kind: 'absent' }]);
        // One unknown id fails the whole call.
        const each = [];
        for (const id of ids) each.push(...(await read([id])));
        return each;
      }
      const reason = messageOf(error);
      return ids.map((id) => [id, { kind: 'unread', reason }]);
    }
  };
  return {
    async statusOf(instanceIds) {
      const found = new Map<string, InstanceReading>();
      for (let start = 0; start < instanceIds.length; start += idsPerCall) {
        const some = await read(instanceIds.slice(start, start + idsPerCall));
        for (const [id, reading] of some) found.set(id, reading);
      }
      return found;
    },
  };
}

const checks = [
  ['systemStatus', 'system status'],
  ['instanceStatus', 'instance status'],
  ['attachedEbsStatus', 'attached volumes'],
] as const;

function readingsIn(answer: XmlValue): Map<string, InstanceReading> {
  return new Map(
    itemsOf(child(answer, 'instanceStatusSet')).map((item) => [
      textOf(child(item, 'instanceId')),
      readingOf(item),
    ]),
  );
}

function readingOf(item: XmlValue): InstanceReading {
  const state = textOf(child(child(item, 'instanceState'), 'name'));
  if (state !== 'running') return { kind: 'not-running', state };
  const found = checks.map(([field, name]) => {
    const check = child(item, field);
    return { name, status: textOf(child(check, 'status')), details: child(check, 'details') };
  });
  const impaired = found.filter(({ status }) => status === 'impaired');
  if (impaired.length > 0) {
    const times = impaired
      .flatMap(({ details }) => itemsOf(details))
      .flatMap((detail) => parseTime(textOf(child(detail, 'impairedSince'))) ?? []);
    return {
      kind: 'impaired',
      checks: impaired.map(({ name }) => name),
      ...(times.length === 0 ? {} : { since: Math.min(...times) }),
    };
  }
  // Not every instance type has a check of its volumes.
  const undecided = found.find(
    ({ name, status }) =>
      status !== 'ok' && !(name === 'attached volumes' && ['', 'not-applicable'].includes(status)),
  );
  return undecided === undefined
    ? { kind: 'ok' }
    : { kind: 'undecided', status: undecided.status || 'none' };
}
