/** Keys that documents published by an older nodegap do not have. */
import type { AuditConfig, ConditionTaintConfig, Config, Timings } from './model.ts';

type LaterTiming = 'startupSoak' | 'startupDeadline';

/** A document as it was published, by this nodegap or an older one. */
export type PublishedConfig = Omit<Config, 'timings' | 'conditionTaints' | 'audit'> & {
  timings: Omit<Timings, LaterTiming> & Partial<Pick<Timings, LaterTiming>>;
  conditionTaints?: ConditionTaintConfig[];
  audit?: AuditConfig;
};

/**
 * The document with the defaults of the keys that it lacks. Between the update of the functions and
 * the publication of the same deploy, and after `config push` by an older command line, functions
 * read such a document, and a scan must not fail for what its cluster does not use.
 */
export function withLaterKeys(document: PublishedConfig): Config {
  return {
    conditionTaints: [],
    audit: {},
    ...document,
    timings: { startupSoak: 30, startupDeadline: 900, ...document.timings },
  };
}
