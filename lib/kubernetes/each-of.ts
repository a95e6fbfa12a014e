/** Concurrent requests towards one API server. */
const streams = 2;

/** Two at a time: no more streams than that towards one API server. The first failure ends it. */
export async function eachOf<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      await work(item).catch((error: unknown) => {
        left.length = 0;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(streams, left.length) }, worker));
}
