// The one stream of events of a page: browsers allow about six connections to a server, so all
// that a page watches comes over one. Whoever wants rows of a query subscribes here; a change of
// the set opens the stream again, after the last event that came.

import { signal } from "@preact/signals";
import { BASE, parameters } from "./client.ts";
import type { Query, RowObject, Stream } from "./types.ts";

export interface RowsEvent {
  readonly query: string;
  readonly generation: number;
  readonly micro_batch: number;
  readonly rows: readonly RowObject[];
}

export interface SkippedEvent {
  readonly rows: number | null;
  readonly queries: Readonly<Record<string, number>>;
  readonly reason: string;
}

export interface StatusEvent {
  readonly at: string;
  readonly streams: readonly Partial<Stream>[];
  readonly queries: readonly (Partial<Query> & { readonly id: string })[];
}

export interface Watcher {
  /** A query, or one generation of it: `q1@2`. */
  readonly query: string;
  rows(event: RowsEvent): void;
  skipped?(rows: number | null, reason: string): void;
}

export type Connection = "connecting" | "live" | "lost" | "closed";

/** Milliseconds that changes of the set are gathered, and pauses between attempts. */
const GATHERED = 50;
const PAUSES = [500, 1000, 2000, 5000];

export class EventStream {
  readonly connection = signal<Connection>("connecting");
  onStatus: (event: StatusEvent) => void = () => undefined;
  onSession: () => void = () => undefined;

  private readonly watchers = new Set<Watcher>();
  private source: EventSource | null = null;
  private lastId = "";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private attempts = 0;
  private watched = "";

  start(): void {
    this.open();
  }

  watch(watcher: Watcher): () => void {
    this.watchers.add(watcher);
    this.changed();
    return () => {
      this.watchers.delete(watcher);
      this.changed();
    };
  }

  private get set(): string {
    return [...new Set([...this.watchers].map(({ query }) => encodeURIComponent(query)))]
      .sort()
      .join(",");
  }

  private changed(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.set !== this.watched && this.open(), GATHERED);
  }

  private open(): void {
    this.source?.close();
    this.watched = this.set;
    const given = parameters({ status: true, overflow: "skip", last_event_id: this.lastId || undefined });
    const source = new EventSource(`${BASE}/events?queries=${this.watched}&${given}`);
    this.source = source;
    source.addEventListener("hello", (event) => {
      this.lastId = (event as MessageEvent<string>).lastEventId || this.lastId;
      this.attempts = 0;
      this.connection.value = "live";
    });
    source.addEventListener("rows", (event) => this.rows(event as MessageEvent<string>));
    source.addEventListener("skipped", (event) => this.skipped(event as MessageEvent<string>));
    source.addEventListener("status", (event) => {
      this.onStatus(JSON.parse((event as MessageEvent<string>).data) as StatusEvent);
    });
    source.addEventListener("close", (event) => this.closed(event as MessageEvent<string>));
    source.onerror = () => this.again();
  }

  private rows(event: MessageEvent<string>): void {
    this.lastId = event.lastEventId || this.lastId;
    const data = JSON.parse(event.data) as RowsEvent;
    for (const watcher of [...this.watchers]) {
      const [id, generation] = watcher.query.split("@");
      const fits = generation === undefined || Number(generation) === data.generation;
      if (id === data.query && fits) watcher.rows(data);
    }
  }

  private skipped(event: MessageEvent<string>): void {
    this.lastId = event.lastEventId || this.lastId;
    const data = JSON.parse(event.data) as SkippedEvent;
    for (const watcher of [...this.watchers]) {
      const id = watcher.query.split("@")[0] ?? "";
      if (id in data.queries) watcher.skipped?.(data.queries[id] ?? null, data.reason);
    }
  }

  private closed(event: MessageEvent<string>): void {
    const { reason } = JSON.parse(event.data) as { reason: string };
    if (reason === "session") {
      this.source?.close();
      this.connection.value = "closed";
      this.onSession();
    } else this.again();
  }

  /** Connect again, later each time; the first connection of a page is not yet "lost". */
  private again(): void {
    this.source?.close();
    this.connection.value = "lost";
    const pause = PAUSES[Math.min(this.attempts, PAUSES.length - 1)] ?? 5000;
    this.attempts += 1;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), pause);
  }
}
