import { NodegapError } from '../../lib/errors.ts';
import * as z from '../../lib/zod.ts';

const text = z.string().check(z.minLength(1));

/** The environment variables that the stack gives every function. */
const environmentSchema = z.object({
  TABLE_NAME: text,
  TOPIC_ARN: text,
  BUS_NAME: text,
  /** `account/region/stack`. */
  INSTALLATION: text,
  /** JSON: ARN of the state machine of each network. */
  STATE_MACHINES: z.optional(jsonRecord()),
  /** JSON: ARN of the state machine `admit-nodes` of each network. */
  ADMIT_MACHINES: z.optional(jsonRecord()),
  /** JSON: name of the scan function of each network. */
  SCAN_FUNCTIONS: z.optional(jsonRecord()),
  /** JSON: name of the function taint-conditions of each network. */
  TAINT_CONDITIONS_FUNCTIONS: z.optional(jsonRecord()),
  /** The network whose clusters the function reaches. */
  NETWORK: z.optional(text),
  /** Of the functions that save evidence. */
  EVIDENCE_BUCKET: z.optional(text),
  NODEGAP_VERSION: z.optional(text),
  /** Where the approval page is, when the stack has one. */
  APPROVAL_PAGE_URL: z.optional(text),
  AWS_REGION: text,
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
  const read = z.transform((json: string, { issues }): Record<string, string> => {
    try {
      return z.record(z.string(), z.string()).parse(JSON.parse(json));
    } catch {
      issues.push({ code: 'custom', message: 'is not a JSON object of strings', input: json });
      return z.NEVER;
    }
  });
  return z.pipe(z.string(), read);
}
