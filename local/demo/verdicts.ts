/** Each scenario in numbers: what was expected, and what came of it. Pure. */
import {
  checkAlerted,
  checkHeld,
  checkRepair,
  countEvictions,
  countRefusals,
  type RepairCast,
  successorOf,
  timeOf,
} from './checks.ts';
import type { Ending } from './ending.ts';
import type { Verdict } from './scenario.ts';
import { count, minutesText, shortName } from './words.ts';

export function judgeRepair(cast: RepairCast, ending: Ending): Verdict {
  const { sick, healing } = cast;
  const successor = successorOf(sick, ending);
  const evictions = countEvictions(ending.writes);
  const refusals = countRefusals(ending.writes);
  return {
    expected:
      'one gap heals and its node is given back; one node is replaced past a budget that refuses at first',
    happened: [
      `${shortName(healing.name)}: isolated ${sinceGap(ending, healing.name, 'node-cordoned')} after its gap began, given back ${between(ending, healing.name, 'node-cordoned', 'node-uncordoned')} later`,
      `${shortName(sick.name)}: isolated ${sinceGap(ending, sick.name, 'node-cordoned')} after its gap began, gone after ${sinceGap(ending, sick.name, 'node-removed')}, ${successor === undefined ? 'no new node' : `replaced by ${shortName(successor.metadata.name)}`}`,
      `${count(evictions, 'eviction')}, ${refusals} refused by a budget and tried again, ${count(ending.writes.length, 'write request')} in all`,
    ],
    checks: checkRepair(cast, ending),
  };
}

export function judgeBadImage(daemonSet: string, nodes: number, ending: Ending): Verdict {
  const alert = ending.notices.find(({ notice }) => notice.kind === 'alert');
  const began = ending.happenings.find((one) => one.kind === 'pod-failing')?.at;
  return {
    expected: 'the DaemonSet is to blame: one alert, and no node is touched',
    happened: [
      alert === undefined
        ? 'nobody was alerted'
        : `alerted ${minutesText(began, alert.at)} after the first failure: ${firstLine(alert.notice.body)}`,
      untouchedText(ending),
    ],
    checks: checkAlerted(daemonSet, nodes, ending),
  };
}

export function judgeHeld(
  numbers: { unhealthy: number; total: number; limit: number },
  ending: Ending,
): Verdict {
  const opened = ending.notices.find(({ notice }) => notice.kind === 'breaker');
  return {
    expected: 'more than 20 % of a pool is unhealthy: the breaker holds, and says so once',
    happened: [
      opened === undefined
        ? 'the breaker did not open'
        : `the breaker opened after ${minutesText(ending.startedAt, opened.at)}: ${firstLine(opened.notice.body)}`,
      untouchedText(ending),
    ],
    checks: checkHeld(numbers, ending),
  };
}

function untouchedText(ending: Ending): string {
  return `${count(ending.attempts.length, 'execution')}, ${count(ending.writes.length, 'write request')} in ${minutesText(ending.startedAt, ending.endedAt)} and ${count(ending.scans.length, 'scan')}`;
}

/** From the moment that the DaemonSet's pod stopped being Ready. */
function sinceGap(ending: Ending, node: string, kind: string): string {
  return between(ending, node, 'pod-not-ready', kind);
}

function between(ending: Ending, node: string, from: string, to: string): string {
  return minutesText(timeOf(ending, from, node), timeOf(ending, to, node));
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
