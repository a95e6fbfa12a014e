/**
 * One read of a cluster for all who want one at the same time in one process.
 *
 * How it works: while a read is under way, whoever asks waits for the next one, which begins when it
 * has ended, and all of them get its answer. So nobody gets facts that were read before it asked, and
 * twenty executions at once cost the API server one read after the other and not twenty side by side,
 * which it would answer so late that nodegap would take it for unwell.
 */
import type { ClusterFacts } from '../gap/model.ts';
import type { ClusterReader } from '../ports.ts';

export interface WantedRead {
  /** Reads are shared only among those that want them of the same cluster under the same one. */
  configSha: string;
  cluster: string;
  /** Whether everything is read in full, which serves also those that want less. */
  full: boolean;
  read: () => Promise<ClusterFacts>;
}

interface Line {
  running: Promise<unknown> | undefined;
  next: Waiting | undefined;
}

interface Waiting {
  wanted: WantedRead;
  facts: Promise<ClusterFacts>;
}

/** Facts of it are for several: nobody may change them. */
export class SharedReads {
  readonly #lines = new WeakMap<ClusterReader, Map<string, Line>>();
  readonly #whileOthersWork: <T>(theirs: Promise<T>) => Promise<T>;

  /** @param whileOthersWork how a clock learns that somebody waits for the work of another. */
  constructor(whileOthersWork = <T>(theirs: Promise<T>) => theirs) {
    this.#whileOthersWork = whileOthersWork;
  }

  /** The facts of a read with that reader that has not begun yet. It fails for all or for none. */
  facts(reader: ClusterReader, wanted: WantedRead): Promise<ClusterFacts> {
    const line = this.#lineOf(reader, wanted);
    const { next } = line;
    if (next !== undefined) {
      // Who asks last knows best what is to be read, but never less than somebody needs.
      if (wanted.full || !next.wanted.full) next.wanted = wanted;
      return this.#whileOthersWork(next.facts);
    }
    if (line.running === undefined) return begin(line, wanted);
    const waiting: Waiting = {
      wanted,
      facts: this.#whileOthersWork(line.running).then(() => {
        line.next = undefined;
        return begin(line, waiting.wanted);
      }),
    };
    line.next = waiting;
    return waiting.facts;
  }

  #lineOf(reader: ClusterReader, { cluster, configSha }: WantedRead): Line {
    const lines = this.#lines.get(reader) ?? new Map<string, Line>();
    this.#lines.set(reader, lines);
    const key = `${cluster} ${configSha}`;
    const line = lines.get(key) ?? { running: undefined, next: undefined };
    lines.set(key, line);
    return line;
  }
}

function begin(line: Line, { read }: WantedRead): Promise<ClusterFacts> {
  const facts = read();
  const running = facts
    .catch(() => undefined)
    .then(() => {
      if (line.running === running) line.running = undefined;
    });
  line.running = running;
  return facts;
}
