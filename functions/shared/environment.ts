import * as z from 'zod';
import { NodegapError } from '../../lib/errors.ts';

/** The environment variables that the stack gives every function. */
const environmentSchema = z.object({
  TABLE_NAME: z.string().min(1),
  TOPIC_ARN: z.string().min(1),
  BUS_NAME: z.string().min(1),
  /** `account/region/stack`. */
  INSTALLATION: z.string().min(1),
  /** JSON: ARN of the state machine of each network. */
  STATE_MACHINES: jsonRecord().optional(),
  /** JSON: name of the scan function of each network. */
  SCAN_FUNCTIONS: jsonRecord().optional(),
  AWS_REGION: z.string().min(1),
});
export type Environment = z.infer<typeof environmentSchema>;

/** Reads and checks the environment once, at the start of a function. */
export function readEnvironment(env: NodeJS.ProcessEnv = process.env): Environment {
  const parsed = environmentSchema.safeParse(env);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new NodegapError(
    'BadEnvironment',
    `environment variable ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not understood'}`,
    { cause: parsed.error },
  );
}

function jsonRecord() {
  return z.string().transform((text, context): Record<string, string> => {
    try {
      return z.record(z.string(), z.string()).parse(JSON.parse(text));
    } catch {
      context.addIssue({ code: 'custom', message: 'is not a JSON object of strings' });
      return z.NEVER;
    }
  });
}
