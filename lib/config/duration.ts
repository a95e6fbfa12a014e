/** `1h30m`, `90s`, `0s`: whole hours, minutes and seconds, the largest first, each at most once. */
export const durationPattern = /^(?=\d)(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?$/;

/** Seconds of a duration as the configuration writes it, or undefined when it is none. */
export function parseDuration(text: string): number | undefined {
  const match = durationPattern.exec(text);
  if (match === null) return undefined;
  const [, hours = '0', minutes = '0', seconds = '0'] = match;
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}

/** The shortest form that `parseDuration` reads back as the same number of whole seconds. */
export function formatDuration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor((seconds % 3600) / 60), 'm'],
    [Math.floor(seconds % 60), 's'],
  ] as const;
  const text = parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join('');
  return text === '' ? '0s' : text;
}
