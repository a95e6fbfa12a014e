import { Logger } from '@aws-lambda-powertools/logger';
import type { Log } from './ports.ts';

/** Fields that no log line may carry, whatever passes by. */
const secret = /token|authorization|password|secret/i;

/** One JSON object per line. Errors keep name, message and cause; secrets are cut out. */
export function createLog(logger: Pick<Logger, 'info' | 'warn' | 'error'> = new Logger()): Log {
  return {
    info: (message, fields) => logger.info(message, withoutSecrets(fields)),
    warn: (message, fields) => logger.warn(message, withoutSecrets(fields)),
    error: (message, fields) => logger.error(message, withoutSecrets(fields)),
  };
}

/** A copy with every field cut out, however deep, whose name says that it is a secret. */
export function withoutSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      secret.test(name) ? '[cut out]' : cleaned(value),
    ]),
  );
}

function cleaned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cleaned);
  return isPlainObject(value) ? withoutSecrets(value) : value;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  );
}
