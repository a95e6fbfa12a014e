/** What functions print, as CloudWatch would get it: kept by installation, and not shown. */
import { callerNow } from './call-recorder.ts';

/** Lines by the name of the function that printed them. */
const lines: { caller: string; line: string }[] = [];

export interface Output {
  /** Log lines, as text. */
  logs(): string[];
  /** Samples of metrics: name, values of the dimensions, value. */
  metrics(): string[];
}

/** What the functions whose names begin with `prefix` have printed. */
export function printed(prefix: string): Output {
  const own = () =>
    lines.filter(({ caller }) => caller.startsWith(`${prefix}-`)).map(({ line }) => line);
  return {
    logs: () => own().filter((line) => !line.includes('"_aws"')),
    metrics: () =>
      own()
        .filter((line) => line.includes('"_aws"'))
        .flatMap((line) => samplesIn(JSON.parse(line))),
  };
}

/** CloudWatch's embedded metric format. */
interface Embedded {
  _aws: { CloudWatchMetrics: { Dimensions: string[][]; Metrics: { Name: string }[] }[] };
  [field: string]: unknown;
}

function samplesIn(embedded: Embedded): string[] {
  return embedded._aws.CloudWatchMetrics.flatMap(({ Dimensions, Metrics }) =>
    Metrics.map(({ Name }) => {
      const dimensions = Dimensions.flat().filter((each) => each !== 'service');
      return [Name, ...dimensions.map((each) => embedded[each]), embedded[Name]].join(' ');
    }),
  );
}

/** Begins to keep what functions print. Returns what ends it. */
export function keepOutput(): () => void {
  const streams = [process.stdout, process.stderr];
  const before = streams.map(({ write }) => write);
  streams.forEach((stream, index) => {
    const write = before[index] as typeof stream.write;
    stream.write = ((chunk: string | Uint8Array, ...rest: []) => {
      const caller = callerNow();
      if (caller === undefined) return write.call(stream, chunk, ...rest);
      for (const line of String(chunk).split('\n')) {
        if (line !== '') lines.push({ caller, line });
      }
      return true;
    }) as typeof stream.write;
  });
  return () => {
    streams.forEach((stream, index) => {
      stream.write = before[index] as typeof stream.write;
    });
    lines.length = 0;
  };
}
