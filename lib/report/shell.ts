/** A word of a command that is copied into a POSIX shell: quoted where it must be. */
export function quoted(word: string): string {
  return /^[\w.:/@=,+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
