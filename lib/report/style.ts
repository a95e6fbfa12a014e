import { createColors } from 'picocolors';

export type Paint = (text: string) => string;

/** Colours by meaning, so that a report never names one. */
export interface Style {
  bold: Paint;
  dim: Paint;
  good: Paint;
  bad: Paint;
  warning: Paint;
  /** Names of things to look at. */
  name: Paint;
}

/** A style that colours, or one that leaves every text as it is. */
export function createStyle(coloured: boolean): Style {
  const colors = createColors(coloured);
  return {
    bold: colors.bold,
    dim: colors.dim,
    good: colors.green,
    bad: colors.red,
    warning: colors.yellow,
    name: colors.cyan,
  };
}
