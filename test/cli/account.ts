/** An account that answers with `answer` and remembers what it was asked. */
export function answeringAccount(answer: Record<string, unknown>) {
  const asked: Record<string, unknown>[] = [];
  const targets: unknown[] = [];
  return {
    asked,
    targets,
    account: async (options: unknown) => {
      targets.push(options);
      return {
        identity: async () => 'arn:aws:sts::123456789012:assumed-role/ops/ann',
        ask: async (request: Record<string, unknown>) => {
          asked.push(request);
          return answer;
        },
      };
    },
  };
}
