// Two answers of one query beside each other: each key once, then and now.

import { position } from "./format.ts";
import type { AnswerShape, Row } from "./extents.ts";
import { keyOf, natural } from "./extents.ts";

export interface Pair {
  readonly key: string;
  readonly then: Row | null;
  readonly now: Row | null;
}

/** Of each key the newest row of both answers. */
export function beside(then: readonly Row[], now: readonly Row[], shape: AnswerShape): Pair[] {
  const before = newest(then, shape);
  const after = newest(now, shape);
  const keys = [...new Set([...before.keys(), ...after.keys()])].sort(natural);
  return keys.map((key) => ({
    key,
    then: before.get(key) ?? null,
    now: after.get(key) ?? null,
  }));
}

function newest(rows: readonly Row[], shape: AnswerShape): Map<string, Row> {
  const found = new Map<string, Row>();
  const bound = shape.end ?? shape.start;
  for (const row of rows) {
    const key = keyOf(row, shape);
    const before = found.get(key);
    const at = bound === null ? null : position(row[bound]);
    const last = bound === null || before === undefined ? null : position(before[bound]);
    if (before === undefined || at === null || last === null || at >= last) found.set(key, row);
  }
  return found;
}

/** A value of `on` in the words in which the service takes it. */
export function written(value: number, temporal: boolean): string {
  if (!temporal) return String(value);
  return new Date(value * 1000).toISOString().slice(0, 19).replace("T", " ");
}
