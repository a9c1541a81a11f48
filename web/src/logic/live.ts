// What is measured of a query between two reports: rows a second, and its share of the work.

import type { Query } from "../api/types.ts";

export interface LiveQuery extends Query {
  /** Rows a second between the last reports; null before the second one. */
  readonly rate: number | null;
  /** Its part of the processor time of all queries between the last reports. */
  readonly share: number | null;
  /** The last rates, for a line that is read at a glance. */
  readonly rates: readonly number[];
}

/** Reports that rates are taken over: single seconds jump about. */
const REACH = 5;
const RATES = 40;

interface Sample {
  readonly at: number;
  readonly rows: number;
  readonly cpu: number;
}

export class Rates {
  private readonly samples = new Map<string, Sample[]>();
  private readonly rates = new Map<string, number[]>();

  /** Return the queries with their rates after a report at a time, in seconds. */
  report(queries: readonly Query[], at: number): LiveQuery[] {
    const spans = queries.map((query) => this.sample(query, at));
    const all = spans.reduce((sum, span) => sum + (span?.cpu ?? 0), 0);
    this.forget(queries);
    return queries.map((query, place) => {
      const span = spans[place] ?? null;
      const rate = span === null ? null : span.rows / span.seconds;
      const rates = this.rates.get(query.id) ?? [];
      if (rate !== null) rates.push(rate);
      if (rates.length > RATES) rates.shift();
      this.rates.set(query.id, rates);
      const share = span === null || all === 0 ? null : span.cpu / all;
      return { ...query, rate, share, rates: [...rates] };
    });
  }

  private sample(query: Query, at: number) {
    if (query.cost === null) return null;
    const own = this.samples.get(query.id) ?? [];
    const newest = own[own.length - 1];
    // A count that falls is that of another generation, or of a server that began anew.
    if (newest !== undefined && query.cost.rows < newest.rows) own.length = 0;
    if (newest === undefined || at > newest.at)
      own.push({ at, rows: query.cost.rows, cpu: query.cost.cpu_seconds });
    if (own.length > REACH) own.shift();
    this.samples.set(query.id, own);
    const [first] = own;
    const last = own[own.length - 1];
    if (first === undefined || last === undefined || last.at <= first.at) return null;
    return {
      seconds: last.at - first.at,
      rows: last.rows - first.rows,
      cpu: Math.max(0, last.cpu - first.cpu),
    };
  }

  private forget(queries: readonly Query[]): void {
    const live = new Set(queries.map(({ id }) => id));
    for (const id of this.samples.keys()) {
      if (live.has(id)) continue;
      this.samples.delete(id);
      this.rates.delete(id);
    }
  }
}

export function freshness(query: Query): number | null {
  const parts = query.freshness;
  if (parts === null) return null;
  const known = [parts.input_lag, parts.disorder_wait, parts.own_work].filter(
    (part) => part !== null && part !== undefined,
  );
  return known.length === 0 ? null : known.reduce((sum, part) => sum + part, 0);
}

export function title(query: Pick<Query, "id" | "name" | "preview">): string {
  return query.name ?? (query.preview ? `preview ${query.id}` : query.id);
}
