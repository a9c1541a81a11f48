// What may be typed at a place of a statement: streams after FROM, columns of the streams that the
// statement names, and the words of the language.

export interface CatalogStream {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

export interface Choice {
  readonly label: string;
  readonly kind: "stream" | "column" | "keyword" | "function" | "query";
  readonly detail?: string;
  readonly insert?: string;
}

const CLAUSES = [
  ...["SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "AS", "AND", "OR"],
  ...["NOT", "IN", "BETWEEN", "IS NULL", "IS NOT NULL", "CASE", "WHEN", "THEN", "ELSE", "END"],
];
const IN_WINDOW = [
  ...["RANGE", "SLIDE", "TUMBLING", "FRAME", "THRESHOLD", "DELTA", "BOUNDARY", "AGGREGATE"],
  ...["LASTING", "TIES MEAN", "ROWS", "TIEBREAK", "SESSION", "LANDMARK", "WATTR", "SATTR"],
  ...["SECONDS", "MINUTES", "HOURS", "DAYS"],
];
const STATEMENTS = ["CREATE QUERY", "CREATE STREAM", "SHOW QUERIES", "SHOW STREAMS", "EXPLAIN"];
const FUNCTIONS: readonly [string, string][] = [
  ["count", "rows, or values that are not null"],
  ["sum", "total"],
  ["avg", "mean"],
  ["min", "least"],
  ["max", "greatest"],
  ["stddev", "standard deviation"],
  ["variance", "variance"],
  ["percentile", "exact quantile"],
  ["median", "median"],
  ["approx_count_distinct", "distinct values, about"],
  ["first", "first value"],
  ["last", "last value"],
];

export function choices(
  text: string,
  at: number,
  streams: readonly CatalogStream[],
  functions: readonly string[] = [],
  keywords: readonly string[] = [],
): readonly Choice[] {
  const before = text.slice(0, at).replace(/[\w.]*$/, "");
  if (insideBrackets(before))
    return [...distinct([...IN_WINDOW, ...keywords]).map(keyword), ...columnsOf(text, streams)];
  if (/\b(from|join|,)\s*$/i.test(before) && inFrom(before))
    return streams.map(({ name, columns }) => ({
      label: name,
      kind: "stream",
      detail: `${columns.length} columns`,
    }));
  const start = before.trim() === "";
  return [
    ...columnsOf(text, streams),
    ...functionsOf(functions),
    ...CLAUSES.map(keyword),
    ...(start ? STATEMENTS.map(keyword) : []),
  ];
}

/** Those that are explained, then all others that the server knows. */
function functionsOf(known: readonly string[]): Choice[] {
  const explained = new Set(FUNCTIONS.map(([label]) => label));
  const others = known.filter((label) => !explained.has(label));
  return [
    ...FUNCTIONS.map(([label, detail]): Choice => ({ ...call(label), detail })),
    ...others.map(call),
  ];
}

function call(label: string): Choice {
  return { label, kind: "function", insert: `${label}(` };
}

function distinct(words: readonly string[]): string[] {
  return [...new Set(words)];
}

function keyword(label: string): Choice {
  return { label, kind: "keyword" };
}

function insideBrackets(before: string): boolean {
  return before.lastIndexOf("[") > before.lastIndexOf("]");
}

/** Whether the last clause that begins before a place is FROM. */
function inFrom(before: string): boolean {
  const clauses = [...before.matchAll(/\b(select|from|where|group\s+by|having|order\s+by)\b/gi)];
  return /from/i.test(clauses[clauses.length - 1]?.[1] ?? "");
}

function columnsOf(text: string, streams: readonly CatalogStream[]): Choice[] {
  const words = new Set((text.match(/[A-Za-z_]\w*/g) ?? []).map((word) => word.toLowerCase()));
  const named = streams.filter(({ name }) => words.has(name.toLowerCase()));
  const seen = new Set<string>();
  const found: Choice[] = [];
  for (const { columns } of named.length > 0 ? named : streams) {
    for (const { name, type } of columns) {
      if (seen.has(name)) continue;
      seen.add(name);
      found.push({ label: name, kind: "column", detail: type });
    }
  }
  return found;
}
