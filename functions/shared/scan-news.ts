import type { UnknownEntry } from '../../lib/gap/model.ts';
import type { ScanPlan } from '../../lib/remediation/scan-plan.ts';
import type { ClusterReading } from '../../lib/remediation/situation.ts';
import { breakerNotice } from '../../lib/report/notices/breaker-notice.ts';
import { faultNotices } from '../../lib/report/notices/fault-notice.ts';
import { observerNotice } from '../../lib/report/notices/observer-notice.ts';
import { statusNotice } from '../../lib/report/notices/status-notice.ts';
import { Alerts } from '../../lib/safety/alerts.ts';
import { type BreakerState, breakerNews, type MeasuredState } from '../../lib/safety/breaker.ts';
import { labelOf } from '../../lib/safety/scope.ts';
import type { Ports } from './ports.ts';

/**
 * Tells people what is new, as the last thing of a scan: it has done its work when a notice cannot
 * be sent, and the next scan tells it.
 */
export async function tellNews(
  ports: Pick<Ports, 'clock' | 'notifier' | 'table'>,
  reading: ClusterReading,
  plan: ScanPlan,
  breakers: BreakerState[],
  disagreeing: UnknownEntry[],
): Promise<void> {
  const { cluster } = reading.facts;
  const alerts = new Alerts(ports.table, ports.clock);
  const { open, closed } = breakerNews(reading.breakers, breakers, reading.now);
  const lastingNews: string[] = [];
  for (const [event, states] of [
    ['opened', open],
    ['closed', closed],
  ] as const) {
    const keyOf = (state: MeasuredState) => `breaker-${event}#${labelOf(state)}#${state.openedAt}`;
    lastingNews.push(...states.map(keyOf));
    await alerts.tellOnce(cluster, states.map(keyOf), (fresh) => {
      const news = states.filter((state) => fresh.includes(keyOf(state)));
      return ports.notifier.notify(breakerNotice(cluster, event, news));
    });
  }
  const { observer } = reading;
  if (observer !== undefined) {
    // While nodegap does not believe what it sees, that is all that it tells of the nodes.
    await alerts.tellOnce(cluster, [observer.code], () =>
      ports.notifier.notify(observerNotice(cluster, observer)),
    );
    lastingNews.push(observer.code);
  }
  const news = observer === undefined ? plan.alerts : [];
  await alerts.tellOnce(
    cluster,
    news.map(({ key }) => key),
    async (fresh) => {
      const told = news.filter(({ key }) => fresh.includes(key));
      for (const notice of faultNotices(cluster, told)) await ports.notifier.notify(notice);
    },
  );
  const statusKey = ({ daemonSet = '' }: UnknownEntry) => `status-disagrees#${daemonSet}`;
  await alerts.tellOnce(cluster, disagreeing.map(statusKey), (fresh) => {
    const news = disagreeing.filter((entry) => fresh.includes(statusKey(entry)));
    return ports.notifier.notify(statusNotice(cluster, news));
  });
  const lasting = [
    ...disagreeing.map(statusKey),
    ...plan.alerts.map(({ key }) => key),
    ...lastingNews,
  ];
  await alerts.keepOnly(cluster, new Set(lasting));
}
