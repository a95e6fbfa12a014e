import { describe, expect, it } from 'vitest';
import { calledAs, explainCommandLine } from '../../cli/explain-hint.ts';

describe('explainCommandLine', () => {
  it.each([
    [{}, 'nodegap explain n1'],
    [{ file: ['examples/dump.json'] }, 'nodegap explain n1 --file examples/dump.json'],
    [
      { file: ['a b.json', 'rest.json'], config: 'nodegap.yaml', now: '2026-11-29T12:00:00Z' },
      "nodegap explain n1 --file 'a b.json' --file rest.json --config nodegap.yaml --now 2026-11-29T12:00:00Z",
    ],
    [{ file: ['-'] }, 'nodegap explain n1 --file DUMP'],
    [
      { context: 'my ctx', kubeconfig: '~/k', config: '-' },
      "nodegap explain n1 --context 'my ctx' --kubeconfig '~/k' --config FILE",
    ],
  ])('repeats %j', (options, line) => {
    expect(explainCommandLine('nodegap', 'n1', options)).toBe(line);
  });
});

describe('calledAs', () => {
  it.each([
    ['nodegap', {}, 'nodegap'],
    ['nodegap', { npm_lifecycle_event: 'nodegap' }, 'npm run -s nodegap --'],
    ['nodegap', { npm_lifecycle_event: 'test' }, 'nodegap'],
    ['kubectl nodegap', { npm_lifecycle_event: 'nodegap' }, 'kubectl nodegap'],
  ])('%s with %j is %s', (name, env, called) => {
    expect(calledAs(name, env)).toBe(called);
  });
});
