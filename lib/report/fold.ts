/**
 * Breaks text between words into lines of `width` characters; later lines are indented by two. A
 * word that no line has room for is broken after a dot, a slash or a bracket, as a long path is.
 */
export function fold(text: string, width: number | undefined): string[] {
  if (width === undefined) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = `  ${word}`;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
    for (let end = breakIn(line, width); end !== undefined; end = breakIn(line, width)) {
      lines.push(line.slice(0, end));
      line = `  ${line.slice(end)}`;
    }
  }
  return [...lines, line];
}

/** Where to break a line that holds one word only and is too long; undefined when nowhere. */
function breakIn(line: string, width: number): number | undefined {
  if (line.length <= width || line.trimStart().includes(' ')) return undefined;
  const indent = line.length - line.trimStart().length;
  for (let end = width; end > indent + 1; end -= 1) {
    if ('./]'.includes(line[end - 1] ?? '')) return end;
  }
  return undefined;
}
