/**
 * zod for whatever a Lambda function imports: zod/mini, whose schemas have functions instead of
 * methods, so that a bundle holds only those that it uses (about 20 KiB instead of 90). The schema
 * of nodegap.yaml, which no function but publish-config loads, is written with zod itself.
 *
 * Gotcha: zod/mini knows no messages of its own; without any, every mistake is "Invalid input". Those
 * of zod are 3 KiB, for formats that no event and no item has, so these few are in their place. Where
 * zod itself is loaded, its own hold for both, whichever comes first.
 */
import { config, type core } from 'zod/mini';

/** What is wrong, for an operator who reads a log: events and items come from programs. */
export function mistakeOf(issue: core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `expected ${issue.expected}, received ${issue.input === null ? 'null' : typeof issue.input}`;
    case 'invalid_value':
      return `expected one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return `expected ${issue.minimum} or more`;
    case 'too_big':
      return `expected ${issue.maximum} or less`;
    case 'invalid_format':
      return `expected text like ${issue.pattern ?? issue.format}`;
    case 'unrecognized_keys':
      return `unknown: ${issue.keys.join(', ')}`;
    default:
      return 'invalid';
  }
}

if (config().localeError === undefined) config({ localeError: mistakeOf });

export * from 'zod/mini';
