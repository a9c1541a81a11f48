// What the service sends, as docs/server/api.md describes it.

export interface Column {
  readonly name: string;
  readonly type: string;
}

export type RowObject = Readonly<Record<string, unknown>>;

export interface Rows {
  readonly columns: readonly Column[];
  readonly rows: readonly RowObject[];
  readonly count: number;
  readonly truncated: boolean;
}

export interface Cost {
  readonly runs_as: string;
  readonly shared_with: readonly string[];
  readonly rows: number;
  readonly used: number;
  readonly selectivity: number | null;
  readonly late: number;
  readonly refused: number;
  readonly between: number;
  readonly answers: number;
  readonly answer_bytes: number;
  readonly cpu_seconds: number;
  readonly state_bytes: number;
  readonly message_bytes: number;
  /** Rows that were shed for it; not there before something can be shed. */
  readonly shed?: number | null;
}

export interface Freshness {
  readonly input_lag: number | null;
  readonly disorder_wait: number | null;
  readonly own_work: number | null;
}

export interface Query {
  readonly id: string;
  readonly name: string | null;
  readonly generation: number;
  readonly status: string;
  readonly stream: string;
  readonly text: string;
  readonly owner: string | null;
  readonly description: string | null;
  readonly tags: readonly string[];
  readonly start: string;
  readonly until: string | null;
  readonly emit: string;
  readonly created: string;
  readonly since: number | null;
  readonly reason: string | null;
  readonly preview: boolean;
  readonly staged: number | null;
  readonly cost: Cost | null;
  readonly freshness: Freshness | null;
  readonly open_windows?: number | null;
  readonly open_frames?: number | null;
}

export interface Described {
  readonly query: Query;
  readonly columns: readonly Column[];
  readonly keys: readonly string[];
  readonly generations: readonly {
    readonly generation: number;
    readonly status: string;
    readonly text: string;
    readonly staged: boolean;
    readonly since: number | null;
    readonly reason: string | null;
  }[];
}

export interface Stream {
  readonly name: string;
  readonly queries: number;
  readonly micro_batch: number | null;
  readonly punctuation: string | number | null;
  readonly rows: number;
  readonly state_bytes: number;
  readonly estimated_bytes: number;
  readonly columns: readonly Column[];
  readonly on: string | null;
  readonly by: readonly string[];
  readonly keep: boolean;
}

export interface Commanded {
  readonly query: Query;
  readonly command: number;
}

export interface Active {
  readonly query: string;
  readonly generation: number;
  readonly micro_batch: number;
  readonly punctuation: string | number | null;
  readonly filled: string;
  readonly how: string;
}

export interface Addition {
  readonly stream: string;
  readonly runs_as: string;
  readonly shared_with: readonly string[];
  readonly same_predicate: readonly string[] | null;
  readonly new_edges: readonly string[];
  readonly new_accumulators: number;
  readonly state_bytes: number;
  readonly used_bytes: number;
  readonly budget: number | null;
  readonly filled: string;
  readonly how: string;
  readonly fits: boolean;
}

export interface Place {
  readonly line?: number;
  readonly column?: number;
  readonly offset?: number;
  readonly argument?: string;
  readonly path?: string;
}

export interface Mistake {
  readonly kind: string;
  readonly what: string;
  readonly where: Place | null;
  readonly would_work: string | null;
  readonly message: string;
  readonly status?: number;
}

export interface Catalog {
  readonly streams: readonly { readonly name: string; readonly columns: readonly Column[] }[];
  readonly queries: readonly string[];
  readonly functions: readonly string[];
  readonly keywords: readonly string[];
}

export interface Box {
  readonly id: string;
  readonly kind: string;
  readonly title: string;
  readonly figures: Readonly<Record<string, number | string>>;
}

export interface Arrow {
  readonly source: string;
  readonly target: string;
  readonly rows: number | null;
}

export interface Network {
  readonly stream: string;
  readonly parts: readonly { readonly kind: string; readonly queries: readonly string[] }[];
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
}

export interface Tap {
  readonly id: string;
  readonly most: number;
  readonly about: string;
  readonly open: boolean;
}

export interface Session {
  readonly role: "read" | "ask" | "administer" | null;
  readonly name: string | null;
  readonly token_needed: boolean;
  readonly version: string;
  readonly safe: boolean;
  readonly api: number;
}

export interface Refused {
  readonly counts: Readonly<Record<string, number>>;
  readonly rows: readonly RowObject[];
  readonly kept: boolean;
}

/** One point of a QoS graph: what an answer is worth at a delay, a share of rows, or a value. */
export type Point = readonly [number, number];

export interface Quality {
  readonly query: string;
  readonly graphs: readonly {
    readonly about: string;
    readonly points: readonly Point[];
    readonly now: number | null;
    readonly worth: number | null;
  }[];
  readonly shed?: number | null;
  readonly policy?: string | null;
  readonly cost?: string | null;
}

export interface Budget {
  readonly name: string;
  readonly used: number;
  readonly limit: number;
  readonly unit: string;
}
