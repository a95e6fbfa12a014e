/**
 * zod for whatever a Lambda function imports: zod/mini, whose schemas have functions instead of
 * methods, so that a bundle holds only those that it uses (about 20 KiB instead of 90). The schema
 * of nodegap.yaml, which no function but publish-config loads, is written with zod itself.
 *
 * Gotcha: zod/mini knows no messages of its own. Without these every mistake is "Invalid input".
 */
import { en } from 'zod/locales';
import { config } from 'zod/mini';

config(en());

export * from 'zod/mini';
