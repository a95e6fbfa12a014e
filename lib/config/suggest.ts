/** Edit distance with swaps of neighbours (optimal string alignment). */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, at(i - 2, j - 2) + 1);
      }
      row[j] = best;
    }
  }
  return at(a.length, b.length);
}

/** The candidate that `word` was most likely meant to be, or undefined when none is near. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const plain = (text: string): string => text.toLowerCase().replace(/[-_\s]/g, '');
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of candidates) {
    const apart = distance(plain(word), plain(candidate));
    // Of a name of three characters, one off is a third: as good as any other name.
    const allowed = Math.floor(candidate.length / 3.5);
    if (apart <= allowed && (best === undefined || apart < best.distance)) {
      best = { candidate, distance: apart };
    }
  }
  return best?.candidate;
}
