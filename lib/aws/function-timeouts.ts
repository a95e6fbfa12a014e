/**
 * The longest that any function of nodegap may run, in seconds. The stack gives no function more,
 * and a slot is freed only when its execution ended longer ago than this: until then a function
 * that the execution started may still be at work (safety rule 6).
 */
export const longestFunctionTimeoutSeconds = 60;
