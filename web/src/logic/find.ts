// Search and sort of the list of queries: words, and `owner:ada tag:speed state:paused`.

import { natural } from "./extents.ts";

export interface Found {
  readonly name: string;
  readonly owner: string | null;
  readonly tags: readonly string[];
  readonly text: string;
  readonly description: string | null;
  readonly status: string;
  readonly stream: string;
}

const FIELDS = ["owner", "tag", "state", "stream", "name"] as const;
type Field = (typeof FIELDS)[number];

export interface Search {
  readonly words: readonly string[];
  readonly fields: readonly (readonly [Field, string])[];
}

export function parseSearch(text: string): Search {
  const words: string[] = [];
  const fields: [Field, string][] = [];
  for (const part of text.toLowerCase().split(/\s+/).filter(Boolean)) {
    const [name = "", value = ""] = part.split(/:(.*)/s);
    const field = FIELDS.find((known) => known === name);
    if (field !== undefined && part.includes(":")) fields.push([field, value]);
    else words.push(part);
  }
  return { words, fields };
}

export function fits(query: Found, search: Search): boolean {
  const everything = [query.name, query.owner ?? "", query.text, query.description ?? ""]
    .concat(query.tags)
    .join(" ")
    .toLowerCase();
  const values: Record<Field, readonly string[]> = {
    owner: [query.owner ?? ""],
    tag: query.tags,
    state: [query.status],
    stream: [query.stream],
    name: [query.name],
  };
  return (
    search.words.every((word) => everything.includes(word)) &&
    search.fields.every(([field, value]) =>
      values[field].some((own) => own.toLowerCase().startsWith(value)),
    )
  );
}

/** Order by a value; what has none comes last, in both directions. */
export function ordered<Item>(
  items: readonly Item[],
  value: (item: Item) => string | number | null,
  descending: boolean,
): Item[] {
  const sign = descending ? -1 : 1;
  return [...items].sort((one, other) => {
    const left = value(one);
    const right = value(other);
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    if (typeof left === "number" && typeof right === "number") return sign * (left - right);
    return sign * natural(String(left), String(right));
  });
}
