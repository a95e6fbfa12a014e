/** A made-up terminal: what is typed goes in, what is written is kept. */
import { clearLine, cursorTo, moveCursor } from 'node:readline';
import { PassThrough } from 'node:stream';
import type { Terminal } from '../../cli/terminal/terminal.ts';

export class MadeUpTerminal implements Terminal {
  readonly input: PassThrough & { isTTY?: boolean } = new PassThrough();
  readonly output: PassThrough & { isTTY?: boolean; columns?: number } = new PassThrough();
  readonly env: Record<string, string>;
  written = '';
  interrupts = 0;
  #now: number;
  readonly #everySecond = new Set<() => void>();

  constructor(options: {
    now: number;
    isTTY: boolean;
    columns?: number;
    env?: Record<string, string>;
  }) {
    this.#now = options.now;
    this.env = options.env ?? {};
    this.input.isTTY = options.isTTY;
    this.output.isTTY = options.isTTY;
    this.output.columns = options.columns ?? 80;
    // As a tty.WriteStream has them.
    Object.assign(this.output, {
      cursorTo: (column: number) => cursorTo(this.output, column),
      clearLine: () => clearLine(this.output, 0),
      moveCursor: (x: number, y: number) => moveCursor(this.output, x, y),
    });
    this.output.setEncoding('utf8').on('data', (text: string) => {
      this.written += text;
    });
  }

  get clock() {
    return { now: () => this.#now };
  }

  interrupt(): void {
    this.interrupts += 1;
  }

  everySecond(listener: () => void): () => void {
    this.#everySecond.add(listener);
    return () => this.#everySecond.delete(listener);
  }

  /** Lets time pass, and everything be done that it brings. */
  async pass(ms: number): Promise<void> {
    this.#now += ms;
    for (const listener of [...this.#everySecond]) listener();
    await settle();
  }

  async type(text: string): Promise<void> {
    this.input.write(text);
    await settle();
  }

  /** What was written, without colours and movements of the cursor. */
  get text(): string {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what they are made of
    return this.written.replace(/\u001b\[[\d;?]*[A-Za-z]/g, '');
  }
}

/** Streams hand on in turns of the event loop. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
