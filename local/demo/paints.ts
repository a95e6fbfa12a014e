/** Colours by meaning, for all views alike. */
import type { Look } from './show.ts';
import type { Paint, Paints } from './spans.ts';
import type { Tone } from './timeline.ts';

export function lookPaint(look: Look, paints: Paints): Paint {
  const paint: Record<Look, Paint> = {
    healthy: paints.green,
    gap: (text) => paints.red(paints.bold(text)),
    cordoned: paints.yellow,
    tainted: paints.magenta,
    draining: paints.magenta,
    leaving: paints.dim,
    gone: paints.dim,
    joining: paints.cyan,
    new: paints.cyan,
  };
  return paint[look];
}

export function letterPaint(letter: string, paints: Paints): Paint {
  return { A: paints.cyan, B: paints.magenta, C: paints.blue }[letter] ?? paints.white;
}

export function tonePaint(tone: Tone, paints: Paints): Paint | undefined {
  const paint: Record<Tone, Paint | undefined> = {
    stage: paints.cyan,
    plain: undefined,
    good: paints.green,
    bad: paints.red,
    warning: paints.yellow,
    people: paints.magenta,
  };
  return paint[tone];
}
