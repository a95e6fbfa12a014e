import type { PlainReads } from '../lib/kubernetes/plain-reads.ts';
import type { Clusters } from '../lib/ports.ts';
import { auditPrevention } from '../lib/prevention/audit.ts';
import { type AuditSeverity, auditSeverities } from '../lib/prevention/findings.ts';
import { auditNews } from '../lib/prevention/known-findings.ts';
import { readLiveFacts } from '../lib/prevention/sources/live.ts';
import { type NodeGroupReads, withNodeGroups } from '../lib/prevention/sources/node-groups.ts';
import { auditNotice } from '../lib/report/notices/audit-notice.ts';
import { textsOf } from '../lib/safety/item-fields.ts';
import { auditKey } from '../lib/safety/keys.ts';
import * as z from '../lib/zod.ts';
import { auditReads, nodeGroups } from './shared/audit-ports.ts';
import { awsPorts, type CorePorts, lambdaHandler, notifier } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { parseEvent } from './shared/task.ts';

export type AuditPorts = Pick<
  Ports,
  'clock' | 'config' | 'table' | 'notifier' | 'metrics' | 'log'
> &
  Pick<CorePorts, 'clusterOf'> & {
    auditReads: Clusters<PlainReads>;
    nodeGroups: NodeGroupReads;
  };

const eventSchema = z.object({ cluster: z.string().check(z.minLength(1)) });

/** Findings that are logged one by one. */
const mostLogged = 100;

export interface AuditResult {
  findings: Record<AuditSeverity, number>;
  notChecked: number;
  /** Errors and warnings that people were told of. */
  fresh: number;
  ended: number;
}

/**
 * The daily audit of one cluster. It looks at neither ConfigMaps, Secrets nor usage, which the
 * command line does under the rights of its user. People hear of it when errors or
 * warnings have come or gone.
 */
export function makeHandler(ports: AuditPorts) {
  return async (event: unknown): Promise<AuditResult> => {
    const { cluster } = parseEvent(eventSchema, event);
    try {
      const result = await audit(ports, cluster);
      ports.log.info('audit-cluster', { cluster, result });
      return result;
    } catch (error) {
      ports.log.error('audit-cluster failed', { cluster, error });
      throw error;
    }
  };
}

async function audit(ports: AuditPorts, cluster: string): Promise<AuditResult> {
  const own = await ports.clusterOf(cluster);
  const { config } = await ports.config();
  const reads = await ports.auditReads.connect(cluster);
  const live = await readLiveFacts(reads, { cluster, now: ports.clock.now(), inputs: false });
  const facts = await withNodeGroups(live, ports.nodeGroups);
  const report = auditPrevention(facts, { ...config, clusters: [own] });

  const findings = { error: 0, warning: 0, note: 0 };
  for (const { severity } of report.findings) findings[severity] += 1;
  for (const severity of auditSeverities) {
    ports.metrics.count('AuditFindings', findings[severity], { cluster, severity });
  }
  for (const { check, severity, subject, message } of report.findings.slice(0, mostLogged)) {
    const { kind, namespace, name } = subject;
    const about = { kind, ...(namespace === undefined ? {} : { namespace }), name };
    ports.log.info('audit finding', { cluster, check, severity, subject: about, message });
  }
  for (const { check, reason } of report.notChecked) {
    ports.log.info('audit not checked', { cluster, check, reason });
  }

  const before = await ports.table.get(auditKey(cluster));
  const news = auditNews(report, before === undefined ? [] : textsOf(before, 'known'));
  if (news.fresh.length > 0 || news.ended.length > 0) {
    // Told first: a notice that comes twice is better than one that never comes.
    await ports.notifier.notify(auditNotice(report, news));
    const item = { ...auditKey(cluster), known: news.known, at: ports.clock.now() };
    await ports.table.transact([{ kind: 'put', item }]);
  }
  return {
    findings,
    notChecked: report.notChecked.length,
    fresh: news.fresh.length,
    ended: news.ended.length,
  };
}

export const handler = lambdaHandler(
  () => awsPorts({ auditReads, nodeGroups, notifier }),
  makeHandler,
);
