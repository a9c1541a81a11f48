// Where in a text a mistake is: the word at its place, or all of the text.

export interface Span {
  readonly from: number;
  readonly to: number;
}

interface Where {
  readonly line?: number;
  readonly column?: number;
  readonly offset?: number;
}

export function placeOf(text: string, where: Where | null): Span {
  const offset = where?.offset ?? offsetOf(text, where?.line, where?.column);
  if (offset === null) return { from: 0, to: text.length };
  const from = Math.min(Math.max(0, offset), text.length);
  const word = /^[\w.]+|^'[^']*'?|^\S/.exec(text.slice(from))?.[0] ?? "";
  // At the end of the text there is no word: the last letter is marked.
  if (word === "") return { from: Math.max(0, from - 1), to: from };
  return { from, to: from + word.length };
}

function offsetOf(text: string, line?: number, column?: number): number | null {
  if (line === undefined || column === undefined) return null;
  const before = text.split("\n").slice(0, line - 1);
  return before.reduce((sum, own) => sum + own.length + 1, 0) + column - 1;
}
