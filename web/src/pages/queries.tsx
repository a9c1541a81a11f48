// All queries, a line each: how they are, and what they cost.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Confirm, Button, Empty, Freshness, Spark, State } from "../parts/small.tsx";
import { useVirtual } from "../parts/virtual.ts";
import { count, rate, share, UNKNOWN, words } from "../logic/format.ts";
import { fits, ordered, parseSearch } from "../logic/find.ts";
import { freshness, title, type LiveQuery } from "../logic/live.ts";
import { act } from "../state/actions.ts";
import { mayChange, queries } from "../state/desk.ts";
import { addShortcuts } from "../state/keys.ts";
import { address, go } from "../state/route.ts";

interface ColumnOf {
  readonly id: string;
  readonly name: string;
  readonly about: string;
  /** How narrow a page may be that still shows it: 0 is always. */
  readonly from: 0 | 1 | 2 | 3;
  readonly number?: boolean;
  value(query: LiveQuery): string | number | null;
  show(query: LiveQuery): ComponentChildren;
}

const number = (
  id: string,
  name: string,
  about: string,
  from: ColumnOf["from"],
  value: (query: LiveQuery) => number | null | undefined,
): ColumnOf => ({
  id,
  name,
  about,
  from,
  number: true,
  value: (query) => value(query) ?? null,
  show: (query) => figure(value(query)),
});

function figure(value: number | null | undefined) {
  const known = value !== null && value !== undefined;
  return <span class={known && value !== 0 ? "" : "unknown"}>{known ? count(value) : UNKNOWN}</span>;
}

const COLUMNS: readonly ColumnOf[] = [
  {
    id: "name",
    name: "Query",
    about: "Its name, and who asks",
    from: 0,
    value: title,
    show: (query) => <Named query={query} />,
  },
  {
    id: "state",
    name: "State",
    about: "Whether it runs",
    from: 0,
    value: ({ status }) => status,
    show: ({ status, reason }) => <State status={status} reason={reason} />,
  },
  {
    id: "rate",
    name: "Rows/s",
    about: "Rows of the stream that it reads in a second",
    from: 0,
    number: true,
    value: (query) => query.rate,
    show: (query) => (
      <span class="rate">
        <Spark values={query.rates} label={`rows a second of ${title(query)}, the last minute`} />
        {rate(query.rate)}
      </span>
    ),
  },
  {
    id: "fresh",
    name: "Freshness",
    about: "Age of the newest answer: input lag + wait for disorder + own work",
    from: 1,
    number: true,
    value: freshness,
    show: ({ freshness: parts }) => <Freshness parts={parts} />,
  },
  number("answers", "Answers", "Rows of its answers", 3, ({ cost }) => cost?.answers),
  number("open", "Open", "Windows and frames that are open", 2, openExtents),
  number("late", "Late", "Rows that came too late", 2, ({ cost }) => cost?.late),
  number("refused", "Refused", "Rows that were refused, late ones too", 2, ({ cost }) => cost?.refused),
  number("shed", "Shed", "Rows that were left out because there were too many", 2, shed),
  {
    id: "share",
    name: "Share",
    about: "Its part of the work of a micro-batch",
    from: 1,
    number: true,
    value: (query) => query.share,
    show: (query) => (
      <span class="share">
        <span class="share-bar" style={{ width: `${Math.round((query.share ?? 0) * 100)}%` }} />
        <span class="share-text">{share(query.share)}</span>
      </span>
    ),
  },
];

function openExtents({ open_windows, open_frames }: LiveQuery): number | null {
  if (open_windows == null && open_frames == null) return null;
  return (open_windows ?? 0) + (open_frames ?? 0);
}

function shed({ cost }: LiveQuery): number | null | undefined {
  return cost?.shed;
}

const search = signal("");
const sorting = signal<{ id: string; descending: boolean }>({ id: "name", descending: false });
const ROW = 48;

export function QueriesPage() {
  const [cursor, setCursor] = useState(0);
  const [dropping, setDropping] = useState<LiveQuery | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const found = chosen();
  const current = found[Math.min(cursor, found.length - 1)];
  useEffect(
    () =>
      addShortcuts([
        { keys: "/", about: "Search queries", run: () => field.current?.focus() },
        { keys: "j", about: "Next query", run: () => setCursor((now) => clamp(now + 1)) },
        { keys: "k", about: "Query before", run: () => setCursor((now) => clamp(now - 1)) },
        { keys: "Enter", about: "Open the query", run: () => current && go("query", current.id) },
        { keys: "p", about: "Pause or resume the query", run: () => current && toggle(current) },
        {
          keys: "c",
          about: "Change the query",
          run: () => current && go("query", current.id, "change"),
        },
        { keys: "d", about: "Drop the query", run: () => current && setDropping(current) },
      ]),
    [current?.id, current?.status],
  );
  return (
    <section class="page">
      <header class="page-head">
        <h1>Queries</h1>
        <p class="soft">{summary()}</p>
        <div class="page-tools">
          <input
            ref={field}
            type="search"
            class="search"
            aria-label="Search queries"
            placeholder="Search, or owner:ada tag:speed state:paused  ( / )"
            value={search.value}
            onInput={(event) => (search.value = event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              search.value = "";
              event.currentTarget.blur();
            }}
          />
          <Button kind="main" icon="plus" onClick={() => go("editor")}>
            New query
          </Button>
        </div>
      </header>
      {queries.value.length === 0 ? (
        <Empty title="Nobody asks anything yet">
          <p>Write a question; it is previewed before anything stays.</p>
          <Button kind="main" onClick={() => go("editor")}>
            Open the editor
          </Button>
        </Empty>
      ) : found.length === 0 ? (
        <Empty title="No query fits the search" />
      ) : (
        <Table found={found} cursor={cursor} setCursor={setCursor} onDrop={setDropping} />
      )}
      {dropping !== null && (
        <Confirm
          title={`Drop ${title(dropping)}?`}
          action="Drop it"
          onYes={() => void act(dropping, "drop")}
          onClose={() => setDropping(null)}
        >
          <p>It makes no more answers. Those that are there can be read by its id for a day.</p>
        </Confirm>
      )}
    </section>
  );
}

function clamp(place: number): number {
  return Math.max(0, Math.min(place, chosen().length - 1));
}

function chosen(): LiveQuery[] {
  const parsed = parseSearch(search.value);
  const fitting = queries.value.filter((query) => fits({ ...query, name: title(query) }, parsed));
  const column = COLUMNS.find(({ id }) => id === sorting.value.id) ?? COLUMNS[0];
  return column === undefined ? fitting : ordered(fitting, column.value, sorting.value.descending);
}

function summary(): string {
  const owners = new Set(queries.value.map(({ owner }) => owner).filter(Boolean)).size;
  const people = owners > 0 ? ` of ${words(owners, "person", "people")}` : "";
  return `${words(queries.value.length, "query", "queries")}${people}`;
}

function toggle(query: LiveQuery): void {
  const stands = query.status === "paused" || query.status === "quarantined";
  void act(query, stands ? "resume" : "pause");
}

function Table({
  found,
  cursor,
  setCursor,
  onDrop,
}: {
  found: readonly LiveQuery[];
  cursor: number;
  setCursor(place: number): void;
  onDrop(query: LiveQuery): void;
}) {
  const { box, from, to, above, below } = useVirtual(found.length, ROW);
  useEffect(() => {
    box.current?.querySelector("[data-cursor]")?.scrollIntoView({ block: "nearest" });
  }, [cursor]);
  return (
    <div class="queries" ref={box} tabIndex={0} role="region" aria-label="Table of queries">
      <table aria-rowcount={found.length + 1}>
        <thead>
          <tr>
            {COLUMNS.map((column) => (
              <Heading column={column} />
            ))}
            <th class="from-1">
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {above > 0 && <tr style={{ height: above }} aria-hidden="true" />}
          {found.slice(from, to).map((query, number) => (
            <Line
              key={query.id}
              query={query}
              place={from + number}
              here={from + number === cursor}
              onHere={() => setCursor(from + number)}
              onDrop={() => onDrop(query)}
            />
          ))}
          {below > 0 && <tr style={{ height: below }} aria-hidden="true" />}
        </tbody>
      </table>
    </div>
  );
}

function Heading({ column }: { column: ColumnOf }) {
  const { id, descending } = sorting.value;
  const own = id === column.id;
  const sort = () => {
    sorting.value = { id: column.id, descending: own ? !descending : column.number === true };
  };
  return (
    <th
      class={`from-${column.from} ${column.number ? "number" : ""}`}
      aria-sort={own ? (descending ? "descending" : "ascending") : undefined}
    >
      <button type="button" class="sort" title={column.about} onClick={sort}>
        {column.name}
        <span class="sort-mark" aria-hidden="true">
          {own ? (descending ? "▾" : "▴") : ""}
        </span>
      </button>
    </th>
  );
}

function Line({
  query,
  place,
  here,
  onHere,
  onDrop,
}: {
  query: LiveQuery;
  place: number;
  here: boolean;
  onHere(): void;
  onDrop(): void;
}) {
  const stands = query.status === "paused" || query.status === "quarantined";
  const name = title(query);
  return (
    <tr
      aria-rowindex={place + 2}
      data-cursor={here ? "" : undefined}
      class={here ? "here" : ""}
      onMouseDown={onHere}
      onDblClick={() => go("query", query.id)}
    >
      {COLUMNS.map((column) => (
        <td class={`from-${column.from} ${column.number ? "number" : ""}`}>{column.show(query)}</td>
      ))}
      <td class="from-1 actions">
        {mayChange.value && (
          <>
            <Button
              icon={stands ? "play" : "pause"}
              kind="quiet"
              label={`${stands ? "Resume" : "Pause"} ${name}`}
              onClick={() => toggle(query)}
            />
            <Button
              icon="change"
              kind="quiet"
              label={`Change ${name}`}
              onClick={() => go("query", query.id, "change")}
            />
            <Button icon="drop" kind="quiet" label={`Drop ${name}`} onClick={onDrop} />
          </>
        )}
      </td>
    </tr>
  );
}

function Named({ query }: { query: LiveQuery }) {
  return (
    <span class="named">
      <a href={address("query", query.id)}>{title(query)}</a>
      <span class="named-more">
        {query.owner !== null && <span>{query.owner}</span>}
        {query.staged !== null && <span class="tag tag-staged">change staged</span>}
        {query.preview && <span class="tag">expires</span>}
        {query.tags.map((tag) => (
          <button type="button" class="tag" onClick={() => (search.value = `tag:${tag}`)}>
            {tag}
          </button>
        ))}
        <code title={query.text}>{query.text.replace(/\s+/g, " ")}</code>
      </span>
    </span>
  );
}
