/**
 * What is kept of a cluster when its suite fails: the whole log of every component, the audit and
 * what kubectl shows, in `e2e-logs/SUITE/` of the work tree, which Git ignores.
 *
 * Every control plane registers itself here. A suite need not do anything: `failure-logs.setup.ts`
 * tells what runs and what has failed. kubectl is asked when a test has failed, and the logs are
 * copied before the cluster stops; so a `beforeAll` that fails leaves them, too.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What is asked of a control plane that has failed a test. */
export interface Observed {
  /** The folder with its logs. */
  logs: string;
  /** The last lines of every log. */
  tails(lines: number): string;
  /** Undefined while nothing answers yet. */
  kubectl?: (args: string[]) => Promise<string>;
}

/** The suite that runs. */
export interface Suite {
  name: string;
  hasFailed(): boolean;
}

export const KEPT = join(import.meta.dirname, '../../../e2e-logs');

const TAIL_LINES = 15;
const VIEWS: Record<string, string[]> = {
  'nodes.txt': ['get', 'nodes', '-o', 'wide'],
  'nodes.yaml': ['get', 'nodes', '-o', 'yaml'],
  'nodeclaims.txt': ['get', 'nodeclaims,nodepools', '-o', 'wide'],
  'nodeclaims.yaml': ['get', 'nodeclaims,nodepools', '-o', 'yaml'],
  'pods.txt': ['get', 'daemonsets,pods', '-A', '-o', 'wide'],
  'pods.yaml': ['get', 'daemonsets,pods', '-A', '-o', 'yaml'],
  'events.txt': ['get', 'events', '-A', '--sort-by=.metadata.creationTimestamp'],
};

let suite: Suite | undefined;
/** A test has failed, though it may pass when it is tried again. */
let failedOnce = false;
let registered = 0;
const running = new Set<Registration>();

/** Called before the tests of a file: what failed before is another's. */
export function beginSuite(begun: Suite): void {
  suite = begun;
  failedOnce = false;
  registered = 0;
}

/** Called when a test has failed: keeps what kubectl shows of every cluster that runs. */
export async function afterFailure(test: string): Promise<void> {
  failedOnce = true;
  await Promise.all([...running].map((registration) => registration.show(test)));
}

/** A control plane that starts, runs or stops. */
export class Registration {
  readonly #observed: Observed;
  readonly #number: number;
  #begun = false;

  constructor(observed: Observed) {
    this.#observed = observed;
    registered += 1;
    this.#number = registered;
    running.add(this);
  }

  /** To be called while all of it still runs: keeps everything if the suite has failed. */
  async beforeStop(): Promise<void> {
    if (!running.delete(this)) return;
    if (suite === undefined || !(failedOnce || suite.hasFailed())) return;
    // Where no test has failed it was a hook, and nobody has looked yet.
    if (!this.#begun) await this.show('before the end');
    this.#keepLogs();
  }

  /** It did not start, of which there is no other trace. */
  startFailed(): void {
    running.delete(this);
    this.#keepLogs();
  }

  /** Keeps what kubectl shows now, and prints the ends of the logs. */
  async show(when: string): Promise<void> {
    const folder = join(this.#folder(), `kubectl-${fileName(when)}`);
    mkdirSync(folder, { recursive: true });
    const { kubectl } = this.#observed;
    if (kubectl !== undefined) {
      await Promise.all(
        Object.entries(VIEWS).map(async ([file, args]) => {
          // One that is frozen, or has no such type, has something to say as well.
          const seen = await kubectl([...args, '--request-timeout=20s']).catch(String);
          writeFileSync(join(folder, file), seen);
        }),
      );
    }
    console.error(`${this.#observed.tails(TAIL_LINES)}\nkubectl: ${folder}`);
  }

  #keepLogs(): void {
    const folder = join(this.#folder(), 'logs');
    cpSync(this.#observed.logs, folder, { recursive: true });
    console.error(`logs of every component: ${folder}`);
  }

  /** The folder of this cluster. What an earlier run left there is gone. */
  #folder(): string {
    const name = suite?.name ?? 'cluster';
    const folder = join(KEPT, this.#number === 1 ? name : `${name}-${this.#number}`);
    if (!this.#begun) rmSync(folder, { recursive: true, force: true });
    this.#begun = true;
    return folder;
  }
}

function fileName(title: string): string {
  return title.replace(/[^A-Za-z0-9]+/g, '-').slice(0, 100);
}
