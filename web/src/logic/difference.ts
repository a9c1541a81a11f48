// What differs between two statements, word by word, as a person would mark it.

export interface Piece {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

const WORDS = /\s+|[A-Za-z_][\w.]*|\d+(?:\.\d+)?|'[^']*'|[^\sA-Za-z_\d]/g;

export function difference(before: string, after: string): Piece[] {
  const old = before.match(WORDS) ?? [];
  const fresh = after.match(WORDS) ?? [];
  const longest = commonLengths(old, fresh);
  const pieces: { kind: Piece["kind"]; text: string }[] = [];
  const add = (kind: Piece["kind"], text: string) => {
    const last = pieces[pieces.length - 1];
    if (last?.kind === kind) last.text += text;
    else pieces.push({ kind, text });
  };
  let left = 0;
  let right = 0;
  while (left < old.length || right < fresh.length) {
    const one = old[left];
    const other = fresh[right];
    if (one !== undefined && one === other) {
      add("same", one);
      left += 1;
      right += 1;
    } else if (
      other === undefined ||
      (one !== undefined && reach(longest, left + 1, right) >= reach(longest, left, right + 1))
    ) {
      add("removed", one as string);
      left += 1;
    } else {
      add("added", other);
      right += 1;
    }
  }
  return pieces;
}

function reach(lengths: readonly Uint32Array[], left: number, right: number): number {
  return lengths[left]?.[right] ?? 0;
}

/** For each pair of places, how many words both sides have in common from there on. */
function commonLengths(old: readonly string[], fresh: readonly string[]): Uint32Array[] {
  const table = Array.from({ length: old.length + 1 }, () => new Uint32Array(fresh.length + 1));
  for (let left = old.length - 1; left >= 0; left -= 1) {
    const row = table[left] as Uint32Array;
    for (let right = fresh.length - 1; right >= 0; right -= 1) {
      row[right] =
        old[left] === fresh[right]
          ? reach(table, left + 1, right + 1) + 1
          : Math.max(reach(table, left + 1, right), reach(table, left, right + 1));
    }
  }
  return table;
}
