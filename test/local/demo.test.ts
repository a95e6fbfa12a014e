import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runDemo } from '../../local/demo/run.ts';
import { DiscreteClock } from '../workflow/clock.ts';

const minute = 60_000;

/** Keeps what is written to it. */
class Paper extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

function prepare() {
  const clock = new DiscreteClock(Date.parse('2026-11-29T12:00:00Z'));
  const [out, errors] = [new Paper(), new Paper()];
  const stop = new AbortController();
  let code: number | undefined;
  const running = runDemo({ out, errors, env: {}, signal: stop.signal, clock }).then((answer) => {
    code = answer;
  });
  /** Lets virtual time pass until the demo ends, or until it has told something. */
  const pass = async (told?: string) => {
    const isOver = () => code !== undefined || (told !== undefined && out.text.includes(told));
    for (let passed = 0; !isOver() && passed < 90; passed++) await clock.run(minute);
  };
  return { out, errors, stop, running, pass, code: () => code };
}

describe('the demo', () => {
  it('ends as it should, told in plain lines where there is no terminal', async () => {
    const { out, errors, running, pass, code } = prepare();
    await pass();
    await running;
    expect(errors.text).toBe('');
    expect(out.text.split('\n').filter((line) => /failed/.test(line))).toEqual([]);
    expect(code()).toBe(0);
    expect(out.text).not.toContain('\x1b');
    for (const wanted of [
      /^✔ {2}A {2}shop/m,
      /^✔ {2}B {2}analytics/m,
      /^✔ {2}C {2}media/m,
      /checks {4}12 of 12 hold/,
      /0 executions, 0 write requests/,
      /All three scenarios ended as they should/,
      /^\+\d\d:\d\d {2}A {2}ip-\S+ ReleaseNode: uncordoned$/m,
      /its budget allows no eviction now$/m,
      /took its place with every required DaemonSet Ready$/m,
      /people are told: nodegap has stopped new work in cluster media \(pool render\), .*: 3 of 10 nodes/,
      /people are told: kube-system\/kube-proxy cannot get its image on 12 nodes in cluster analytics/,
    ]) {
      expect(out.text).toMatch(wanted);
    }
  }, 60_000);

  it('stops cleanly on Ctrl-C, in the middle of an execution', async () => {
    const { out, errors, stop, running, pass, code } = prepare();
    await pass('IsolateNode');
    stop.abort();
    await pass();
    await running;
    expect(code()).toBe(130);
    expect(errors.text).toBe('');
    expect(out.text).not.toContain('checks');
  }, 60_000);
});
