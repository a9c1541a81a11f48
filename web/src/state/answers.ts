// The answers of a query as they come: those that are there first, then what the events bring.

import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { api, asMistake } from "../api/client.ts";
import type { RowsEvent } from "../api/events.ts";
import type { Column, Described, Mistake, RowObject } from "../api/types.ts";
import { Extents, shapeOf, type AnswerShape, type Row } from "../logic/extents.ts";
import { Ring, RING } from "../logic/ring.ts";
import { events, streams } from "./desk.ts";

export interface Marker {
  /** The number of the row before which rows are missing. */
  readonly before: number;
  readonly rows: number | null;
}

export class Answers {
  /** Grows with each change of the rows, at most once a frame: what is drawn depends on it. */
  readonly version = signal(0);
  readonly described = signal<Described | null>(null);
  readonly wrong = signal<Mistake | null>(null);
  readonly ring = new Ring<Row>();
  columns: readonly Column[] = [];
  shape: AnswerShape = shapeOf([]);
  extents = new Extents(this.shape, null);
  markers: Marker[] = [];
  microBatch: number | null = null;

  private stop: (() => void) | null = null;
  private frame: number | null = null;
  private waiting: RowsEvent[] | null = [];
  private valueColumn: number | null = null;
  private over = false;

  constructor(
    readonly id: string,
    readonly generation: number | null = null,
  ) {}

  /** Watch first, then read what is there: an event in between is known by its micro-batch. */
  async open(): Promise<void> {
    const watched = this.generation === null ? this.id : `${this.id}@${this.generation}`;
    try {
      const described = await api.query(this.id);
      this.stop = events.watch({
        query: watched.replace(this.id, described.query.id),
        rows: (event) => (this.waiting === null ? this.add(event) : this.waiting.push(event)),
        skipped: (rows) => this.skip(rows),
      });
      if (this.over) this.close();
      const found = await api.results(this.id, {
        limit: RING,
        newest: true,
        ...(this.generation === null ? {} : { generation: this.generation }),
      });
      this.begin(described, found.columns);
      if (found.truncated) this.markers.push({ before: 0, rows: null });
      for (const row of found.rows) this.push(row);
      for (const event of this.waiting ?? []) this.add(event);
      this.waiting = null;
      this.described.value = described;
      this.changed();
    } catch (error) {
      this.wrong.value = asMistake(error);
    }
  }

  close(): void {
    this.over = true;
    this.stop?.();
    if (this.frame !== null) cancelAnimationFrame(this.frame);
  }

  get value(): number | null {
    return this.valueColumn;
  }

  /** Draw another column of the answers. */
  choose(column: number | null): void {
    this.valueColumn = column;
    this.extents = new Extents(this.shape, column);
    for (const row of this.ring.slice(0, this.ring.total)) this.extents.add(row);
    this.changed();
  }

  private begin(described: Described, columns: readonly Column[]): void {
    this.columns = columns.filter(({ name }) => name !== "micro_batch");
    const stream = streams.value.find(({ name }) => name === described.query.stream);
    this.shape = shapeOf(this.columns, described.keys, stream?.on ?? null);
    this.valueColumn = this.shape.values[0] ?? null;
    this.extents = new Extents(this.shape, this.valueColumn);
  }

  private add(event: RowsEvent): void {
    if (this.microBatch !== null && event.micro_batch < this.microBatch) return;
    if (this.waiting !== null && event.micro_batch === this.microBatch) return;
    for (const row of event.rows) this.push(row, event.micro_batch);
    this.changed();
  }

  private push(row: RowObject, microBatch?: number): void {
    const own = this.columns.map(({ name }) => row[name]);
    this.ring.push(own);
    this.extents.add(own);
    this.microBatch = microBatch ?? (row["micro_batch"] as number | undefined) ?? this.microBatch;
  }

  private skip(rows: number | null): void {
    if (rows !== null) this.ring.skip(rows);
    this.markers = [...this.markers.slice(-20), { before: this.ring.total, rows }];
    this.changed();
  }

  private changed(): void {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.version.value += 1;
    });
  }
}

export function useAnswers(id: string, generation: number | null = null): Answers {
  const answers = useMemo(() => new Answers(id, generation), [id, generation]);
  useEffect(() => {
    void answers.open();
    return () => answers.close();
  }, [answers]);
  return answers;
}
