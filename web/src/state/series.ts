// The rows of the stream below the answers: those that are kept, then those that come. They come by
// a preview that chooses rows, which the page drops when nobody looks any more.

import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { api, asMistake } from "../api/client.ts";
import type { Mistake, RowObject, Stream } from "../api/types.ts";
import { position } from "../logic/format.ts";
import { thinned, type Series } from "../logic/thin.ts";
import { events } from "./desk.ts";

/** Points of a key that are kept, and drawn. */
const KEPT = 6000;
const DRAWN = 3000;
const TTL = "15 minutes";

interface Points {
  x: number[];
  y: (number | null)[];
}

export class StreamSeries {
  readonly version = signal(0);
  readonly wrong = signal<Mistake | null>(null);
  private readonly points = new Map<string, Points>();
  private preview: string | null = null;
  private stop: (() => void) | null = null;
  private over = false;

  constructor(
    readonly stream: Stream,
    readonly column: string,
    /** The columns by which the answers are grouped, as far as the stream has them. */
    readonly by: readonly string[],
  ) {}

  get text(): string {
    const { name, on } = this.stream;
    return `SELECT ${[on, ...this.by, this.column].join(", ")} FROM ${name}`;
  }

  async open(): Promise<void> {
    try {
      const { query } = await api.preview(this.text, TTL);
      this.preview = query.id;
      if (this.over) return void this.close();
      this.stop = events.watch({
        query: query.id,
        rows: ({ rows }) => this.add(rows),
      });
      if (this.stream.keep) this.addBefore((await api.sql(this.text)).rows);
    } catch (error) {
      this.wrong.value = asMistake(error);
    }
  }

  close(): void {
    this.over = true;
    this.stop?.();
    if (this.preview !== null) void api.drop(this.preview).catch(() => undefined);
    this.preview = null;
  }

  keys(): string[] {
    return [...this.points.keys()];
  }

  of(key: string): Series {
    return thinned(this.points.get(key) ?? { x: [], y: [] }, DRAWN);
  }

  /** Kept rows come after the first live ones: those that are there already are left out. */
  private addBefore(rows: readonly RowObject[]): void {
    const live = new Map(this.points);
    this.points.clear();
    this.add(rows);
    for (const [key, points] of live) {
      const own = this.pointsOf(key);
      const last = own.x[own.x.length - 1] ?? -Infinity;
      points.x.forEach((x, place) => {
        if (x <= last) return;
        own.x.push(x);
        own.y.push(points.y[place] ?? null);
      });
    }
    this.version.value += 1;
  }

  private add(rows: readonly RowObject[]): void {
    const touched = new Set<Points>();
    for (const row of rows) {
      const x = position(row[this.stream.on ?? ""]);
      const y = row[this.column];
      if (x === null || typeof y !== "number") continue;
      const points = this.pointsOf(this.by.map((name) => String(row[name] ?? "null")).join(" · "));
      points.x.push(x);
      points.y.push(y);
      touched.add(points);
    }
    for (const points of touched) settle(points);
    this.version.value += 1;
  }

  private pointsOf(key: string): Points {
    const found = this.points.get(key) ?? { x: [], y: [] };
    this.points.set(key, found);
    return found;
  }
}

/** Rows come in disorder: sort by time, and let the oldest go. */
function settle(points: Points): void {
  const { x, y } = points;
  const places = x.map((_, place) => place).sort((one, other) => (x[one] ?? 0) - (x[other] ?? 0));
  const kept = places.slice(-KEPT);
  points.x = kept.map((place) => x[place] as number);
  points.y = kept.map((place) => y[place] ?? null);
}

export function useSeries(
  stream: Stream | undefined,
  column: string | null,
  by: readonly string[],
): StreamSeries | null {
  const name = stream?.name;
  const series = useMemo(
    () => (stream === undefined || column === null ? null : new StreamSeries(stream, column, by)),
    [name, column, by.join("\n")],
  );
  useEffect(() => {
    void series?.open();
    return () => series?.close();
  }, [series]);
  return series;
}
