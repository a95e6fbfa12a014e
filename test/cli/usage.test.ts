import { describe, expect, it } from 'vitest';
import { NodegapError } from '../../lib/errors.ts';
import { dumpOf, nodegap } from './run.ts';

const dump = dumpOf('C34');

describe('wrong usage', () => {
  it.each<[string, string[], string]>([
    ['an unknown command', ['scna'], "error: unknown command 'scna'\nhint: did you mean scan?\n"],
    [
      'help for an unknown command',
      ['help', 'scna'],
      "error: unknown command 'scna'\nhint: did you mean scan?\n",
    ],
    [
      'a dump that is to be read in full',
      ['scan', '--file', dump, '--full'],
      "error: option '--full' cannot be used with option '--file <dump>'\nhint: nodegap scan --help\n",
    ],
    [
      'an unknown option',
      ['scan', '--fil', 'x'],
      "error: unknown option '--fil'\nhint: did you mean --file?\n",
    ],
    [
      'an option without its value',
      ['scan', '--file'],
      "error: option '--file <dump>' argument missing\nhint: nodegap scan --help\n",
    ],
    [
      'an unknown format',
      ['scan', '-o', 'xml'],
      'error: -o: "xml" is not one of table, wide, json, yaml, html\n',
    ],
    [
      'a dump and a context',
      ['scan', '--file', dump, '--context', 'a'],
      "error: option '--file <dump>' cannot be used with option '--context <name>'\nhint: nodegap scan --help\n",
    ],
    [
      'no node to explain',
      ['explain'],
      "error: missing required argument 'node'\nhint: nodegap explain --help\n",
    ],
    ['too much to explain', ['explain', 'a', 'b', 'c'], 'error: explain takes no argument "c"\n'],
    ['an argument of scan', ['scan', 'extra'], 'error: scan takes no argument "extra"\n'],
    [
      'a time for a live cluster',
      ['scan', '--now', '2026-11-29T12:00:00Z'],
      'error: --now is for dumps: a live cluster is judged as of the present\nhint: add --file DUMP, or leave --now out\n',
    ],
    [
      'a bad time',
      ['scan', '--file', dump, '--now', 'noon'],
      'error: --now: "noon" is not a time\nhint: write it as ISO 8601 with a zone, for example 2026-11-29T12:00:00Z\n',
    ],
    [
      'a file that is not there',
      ['scan', '--file', '/nowhere/dump.json'],
      'error: /nowhere/dump.json cannot be read: there is no such file\n',
    ],
    ['a folder', ['scan', '--file', '/'], 'error: / cannot be read: it is a directory\n'],
  ])('%s is told in a line, with what to do', async (_what, argv, expected) => {
    const { code, out, err } = await nodegap(argv);
    expect({ code, out, err }).toEqual({ code: 1, out: '', err: expected });
  });
});

describe('help', () => {
  it.each([[[]], [['help']], [['--help']]])('%j prints the commands', async (argv) => {
    const { code, out, err } = await nodegap(argv);
    for (const command of ['scan', 'explain', 'config', 'rbac']) expect(out).toContain(command);
    expect(out).toContain('Exit codes: 0 success, 1 error.');
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  it('shows how to make a dump', async () => {
    const { out } = await nodegap(['scan', '--help']);
    expect(out).toContain('kubectl get nodes,ds,pods,events,pdb -A -o json > dump.json');
  });

  it('of a group lists its commands', async () => {
    const { code, out } = await nodegap(['config']);
    expect(out).toContain('check [options] <file>');
    expect(code).toBe(0);
  });

  it('prints the version', async () => {
    const { code, out } = await nodegap(['--version']);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(code).toBe(0);
  });
});

describe('failures', () => {
  const failing = (error: unknown) => ({
    connect: () => {
      throw error;
    },
  });

  it('show no stack unless NODEGAP_DEBUG=1', async () => {
    const error = new NodegapError('X', 'it broke', { cause: new Error('deep down') });
    const plain = await nodegap(['scan'], failing(error));
    expect(plain).toEqual({ code: 1, out: '', err: 'error: it broke\n' });
    const debug = await nodegap(['scan'], { ...failing(error), env: { NODEGAP_DEBUG: '1' } });
    expect(debug.err).toMatch(/^error: it broke\nX: it broke\n +at /);
    expect(debug.err).toContain('caused by: Error: deep down');
  });

  it('that nobody foresaw say how to report them', async () => {
    const { code, err } = await nodegap(['scan'], failing(new TypeError('x is undefined\nmore')));
    expect(err).toBe(
      'error: unexpected: x is undefined\nhint: this is a fault of nodegap; run again with NODEGAP_DEBUG=1 and report what it prints\n',
    );
    expect(code).toBe(1);
  });
});
