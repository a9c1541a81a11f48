// Answers as shapes over a series: windows are steps, frames are rectangles that may still grow.

import { position } from "./format.ts";

export type Row = readonly unknown[];

export interface Column {
  readonly name: string;
  readonly type: string;
}

/** Which columns of an answer say what: its keys, its bounds, and the values. */
export interface AnswerShape {
  readonly keys: readonly number[];
  readonly start: number | null;
  readonly end: number | null;
  readonly values: readonly number[];
  readonly change: number | null;
  readonly final: number | null;
  readonly complete: number | null;
  readonly kind: "windows" | "frames" | "rows";
}

const STARTS = ["window_start", "frame_start", "session_start", "on_start"];
const ENDS = ["window_end", "frame_end", "session_end", "on_end"];
const OURS = [
  ...STARTS,
  ...ENDS,
  ...["change", "final", "complete", "micro_batch", "frame_id", "status", "n", "n_missing"],
];

const NUMERIC = /int|double|float|decimal|long|short|number/i;

export function isNumeric(type: string): boolean {
  return NUMERIC.test(type) && !/interval|list|struct/i.test(type);
}

/** Read the shape of an answer from its columns; `keys` are the columns by which it is grouped. */
export function shapeOf(
  columns: readonly Column[],
  keys: readonly string[] = [],
  on: string | null = null,
): AnswerShape {
  const place = (name: string) => {
    const found = columns.findIndex((column) => column.name === name);
    return found < 0 ? null : found;
  };
  const first = (names: readonly string[]) =>
    names.map(place).find((found) => found !== null) ?? null;
  const frames = columns.some(({ name }) => name.startsWith("frame_"));
  let start = first(frames ? ["frame_start"] : STARTS.filter((name) => name !== "on_start"));
  let end = first(frames ? ["frame_end"] : ENDS.filter((name) => name !== "on_end"));
  if (place("on_end") !== null) {
    // Windows over rows are drawn where their rows lie, not by rank.
    start = place("on_start");
    end = place("on_end");
  }
  const bounded = start !== null || end !== null;
  if (!bounded && on !== null) end = place(on);
  const taken = new Set([start, end]);
  const values: number[] = [];
  const grouped: number[] = [];
  columns.forEach(({ name, type }, index) => {
    if (taken.has(index) || OURS.includes(name)) return;
    if (keys.includes(name) || !isNumeric(type)) grouped.push(index);
    else values.push(index);
  });
  return {
    keys: grouped.filter((index) => !/time|date/i.test(columns[index]?.type ?? "")),
    start,
    end,
    values,
    change: place("change"),
    final: place("final"),
    complete: place("complete"),
    kind: frames ? "frames" : bounded ? "windows" : "rows",
  };
}

export function keyOf(row: Row, shape: AnswerShape): string {
  return shape.keys.map((index) => String(row[index] ?? "null")).join(" · ");
}

export interface Extent {
  readonly key: string;
  readonly from: number;
  to: number;
  value: number | null;
  /** Whether it may still change: an early answer that is not final. */
  open: boolean;
  complete: boolean;
}

/** The answers of a query as extents, with changes applied in their order. */
export class Extents {
  private readonly found = new Map<string, Extent>();

  constructor(
    readonly shape: AnswerShape,
    readonly value: number | null,
    readonly most = 20_000,
  ) {}

  add(row: Row): void {
    const { shape } = this;
    const end = shape.end === null ? null : position(row[shape.end]);
    const start = shape.start === null ? null : position(row[shape.start]);
    const from = start ?? end;
    const to = end ?? start;
    if (from === null || to === null) return;
    const key = keyOf(row, shape);
    // A frame that grows keeps its start; a window that is only known by its end keeps that.
    const name = `${key}\n${shape.kind === "frames" && start !== null ? start : (end ?? start)}`;
    const change = shape.change === null ? "+" : row[shape.change];
    if (change === "-") {
      this.found.delete(name);
      return;
    }
    const value = this.value === null ? null : row[this.value];
    this.found.delete(name);
    this.found.set(name, {
      key,
      from,
      to,
      value: typeof value === "number" ? value : null,
      open: shape.final !== null && row[shape.final] === false,
      complete: shape.complete === null || row[shape.complete] !== false,
    });
    if (this.found.size > this.most) {
      const oldest = this.found.keys().next().value;
      if (oldest !== undefined) this.found.delete(oldest);
    }
  }

  keys(): string[] {
    return [...new Set([...this.found.values()].map(({ key }) => key))].sort(natural);
  }

  of(key: string): Extent[] {
    const own = [...this.found.values()].filter((extent) => extent.key === key);
    return own.sort((one, other) => one.to - other.to || one.from - other.from);
  }

  get size(): number {
    return this.found.size;
  }

  get openCount(): number {
    let open = 0;
    for (const extent of this.found.values()) if (extent.open) open += 1;
    return open;
  }
}

/**
 * Extents as the points of a line with steps. Windows that overlap are drawn for the stretch that
 * is theirs alone: from the end of the one before to their own end.
 */
export function steps(extents: readonly Extent[]): { x: number[]; y: (number | null)[] } {
  const x: number[] = [];
  const y: (number | null)[] = [];
  let last: number | null = null;
  extents.forEach((extent, number) => {
    const next = extents[number + 1];
    const width = last === null ? (next === undefined ? 0 : next.to - extent.to) : extent.to - last;
    // Where no start was selected a window reaches back to the one before it.
    const start = extent.from < extent.to ? extent.from : extent.to - Math.max(0, width);
    const from = last === null ? start : Math.max(last, start);
    if (last !== null && from > last) {
      x.push(last, from);
      y.push(null, null);
    }
    x.push(from, extent.to);
    y.push(extent.value, extent.value);
    last = extent.to;
  });
  return { x, y };
}

const collator = new Intl.Collator("en", { numeric: true });

export function natural(one: string, other: string): number {
  return collator.compare(one, other);
}
