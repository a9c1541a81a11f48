// The results of a query: the chart, the table, and ways to take them along.

import { useMemo, useState } from "preact/hooks";
import { download } from "../api/client.ts";
import type { Stream } from "../api/types.ts";
import { isNumeric, natural } from "../logic/extents.ts";
import { words } from "../logic/format.ts";
import { title, type LiveQuery } from "../logic/live.ts";
import { measured } from "../logic/measured.ts";
import { snippets } from "../logic/snippets.ts";
import { Later } from "../parts/later.tsx";
import { RowTable } from "../parts/rows.tsx";
import type { Drawn } from "../parts/shapes.ts";
import { Button, Dialog, Empty, Field } from "../parts/small.tsx";
import type { Answers } from "../state/answers.ts";
import { mayAsk, streams } from "../state/desk.ts";
import { done } from "../state/notes.ts";
import { useSeries } from "../state/series.ts";
import { dark } from "../state/theme.ts";

const MOST_KEYS = 6;
const SPANS: readonly [string, number | null][] = [
  ["all", null],
  ["15 min", 900],
  ["1 h", 3600],
  ["6 h", 21_600],
];
const NONE = { x: [], y: [] };

export function Results({ answers, query }: { answers: Answers; query: LiveQuery }) {
  if (answers.described.value === null) return <p class="waiting">Reading the answers …</p>;
  return (
    <>
      <ChartOf answers={answers} query={query} />
      <div class="section-head">
        <h2>Answers</h2>
        <Take query={query} />
      </div>
      <RowTable answers={answers} label={`Answers of ${title(query)}`} />
    </>
  );
}

const chart = () => import("../parts/chart.tsx").then(({ Chart }) => Chart);

export function ChartOf({ answers, query }: { answers: Answers; query: LiveQuery }) {
  const version = answers.version.value;
  const { shape, columns, extents } = answers;
  const stream = streams.value.find(({ name }) => name === query.stream);
  const [keys, setKeys] = useState<readonly string[] | null>(null);
  const [span, setSpan] = useState<number | null>(null);
  const [over, setOver] = useState<string | null | undefined>(undefined);
  const guess = useMemo(() => measured(query.text), [query.text]);
  const numeric = (stream?.columns ?? []).filter(({ type }) => isNumeric(type));
  const first = numeric.find(({ name }) => name === guess?.column)?.name ?? null;
  const column = !mayAsk.value ? null : over === undefined ? first : over;
  const by = keyColumns(answers, stream);
  const series = useSeries(stream, column, by);
  const seen = series?.version.value ?? 0;
  const all = useMemo(() => {
    const answered = extents.keys();
    const named = by.length > 0 || answered.length === 0;
    return [...new Set([...answered, ...(named ? (series?.keys() ?? []) : [])])].sort(natural);
  }, [extents, version, series, seen]);
  const chosen = (keys ?? all.slice(0, 3)).filter((key) => all.includes(key));
  if (shape.end === null && shape.start === null)
    return (
      <Empty title="Nothing to draw">
        <p>The answers have no bounds: select window_end, frame_start and frame_end, or the time.</p>
      </Empty>
    );
  if (all.length === 0)
    return (
      <Empty title="Nothing to draw yet">
        <p>The chart begins with the first rows of the stream.</p>
      </Empty>
    );
  const drawn: Drawn[] = chosen.map((key) => ({
    key,
    colour: colourOf(all, key),
    extents: extents.of(key),
    series: series === null ? NONE : series.of(by.length === 0 ? "" : key),
  }));
  const valueName = answers.value === null ? "" : (columns[answers.value]?.name ?? "");
  const apart = column !== null && !(guess?.column === column && guess.same);
  const about = `${title(query)}: ${words(extents.size, "answer")} of ${words(all.length, "key")}.`;
  return (
    <figure class="chart-frame">
      <div class="chart-tools">
        <Keys all={all} chosen={chosen} onChoose={setKeys} />
        <Field label="Draw">
          <select
            value={answers.value ?? ""}
            onChange={(event) => answers.choose(Number(event.currentTarget.value))}
          >
            {shape.values.map((place) => (
              <option value={place}>{columns[place]?.name}</option>
            ))}
          </select>
        </Field>
        <Field label="over">
          <select
            value={column ?? ""}
            disabled={!mayAsk.value}
            onChange={(event) => setOver(event.currentTarget.value || null)}
          >
            <option value="">nothing</option>
            {numeric.map(({ name }) => (
              <option value={name}>{name}</option>
            ))}
          </select>
        </Field>
        <Field label="the last">
          <select
            value={String(span)}
            onChange={(event) => setSpan(Number(event.currentTarget.value) || null)}
          >
            {SPANS.map(([name, length]) => (
              <option value={String(length)}>{name}</option>
            ))}
          </select>
        </Field>
      </div>
      <Later
        load={chart}
        given={{
          drawn,
          temporal: temporal(answers),
          frames: shape.kind === "frames",
          span,
          valueName,
          onName: stream?.on ?? "",
          apart,
          about,
          dark: dark.value,
        }}
      />
      <figcaption class="soft">{caption(answers, column)}</figcaption>
      {series?.wrong.value != null && <p class="soft">{series.wrong.value.what}</p>}
    </figure>
  );
}

function caption({ shape, extents }: Answers, column: string | null): string {
  const rows = column === null ? "" : `, over the rows of the stream (${column})`;
  const open = extents.openCount > 0 ? ` ${words(extents.openCount, "answer")} open (broken lines).` : "";
  const kind = shape.kind === "frames" ? "Frames as shaded rectangles" : "Windows as steps";
  return `${kind}${rows}.${open} Drag to zoom, double click for all.`;
}

function temporal({ shape, columns }: Answers): boolean {
  const place = shape.end ?? shape.start;
  return place !== null && /time|date/i.test(columns[place]?.type ?? "");
}

/** Columns of the keys that the stream has too, by which its rows can be told apart. */
function keyColumns({ shape, columns }: Answers, stream: Stream | undefined): string[] {
  const known = new Set(stream?.columns.map(({ name }) => name));
  const names = shape.keys.map((place) => columns[place]?.name ?? "");
  return names.every((name) => known.has(name)) ? names : [];
}

function colourOf(all: readonly string[], key: string): number {
  return all.indexOf(key) % MOST_KEYS;
}

function Keys({
  all,
  chosen,
  onChoose,
}: {
  all: readonly string[];
  chosen: readonly string[];
  onChoose(keys: readonly string[]): void;
}) {
  const [text, setText] = useState("");
  if (all.length <= 1) return null;
  const found = all.filter((key) => key.toLowerCase().includes(text.toLowerCase())).slice(0, 40);
  const toggle = (key: string) => {
    const next = chosen.includes(key) ? chosen.filter((own) => own !== key) : [...chosen, key];
    onChoose(next.slice(-MOST_KEYS).sort(natural));
  };
  return (
    <details class="chosen-keys">
      <summary>
        {chosen.map((key) => (
          <span class="key" style={{ "--own": `var(--key-${colourOf(all, key)})` }}>
            {key}
          </span>
        ))}
        <span class="soft">
          {chosen.length} of {words(all.length, "key")}
        </span>
      </summary>
      <div class="key-list">
        {all.length > 12 && (
          <input
            type="search"
            aria-label="Search keys"
            placeholder="Search"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
        {found.map((key) => (
          <label>
            <input type="checkbox" checked={chosen.includes(key)} onChange={() => toggle(key)} />
            <span class="key" style={{ "--own": `var(--key-${colourOf(all, key)})` }}>
              {key}
            </span>
          </label>
        ))}
      </div>
    </details>
  );
}

const FORMATS: readonly [string, string][] = [
  ["csv", "CSV"],
  ["parquet", "Parquet"],
  ["arrow", "Arrow"],
  ["jsonl", "JSON lines"],
];

function Take({ query }: { query: LiveQuery }) {
  const [copying, setCopying] = useState(false);
  return (
    <div class="take">
      <Button icon="copy" onClick={() => setCopying(true)}>
        Copy as …
      </Button>
      <span class="downloads">
        {FORMATS.map(([format, name]) => (
          <a class="button button-plain" href={download(query.id, format)} download>
            {name}
          </a>
        ))}
      </span>
      {copying && <CopyAs query={query} onClose={() => setCopying(false)} />}
    </div>
  );
}

function CopyAs({ query, onClose }: { query: LiveQuery; onClose(): void }) {
  const here = location.origin + location.pathname.replace(/\/$/, "");
  const copy = async (name: string, text: string) => {
    await navigator.clipboard.writeText(text);
    done(`Copied as ${name}`);
    onClose();
  };
  return (
    <Dialog title="Copy as" onClose={onClose}>
      {snippets(here, query.id, query.name ?? query.id, query.text).map(({ name, text }) => (
        <div class="snippet">
          <div class="section-head">
            <h3>{name}</h3>
            <Button icon="copy" onClick={() => void copy(name, text)}>
              Copy {name}
            </Button>
          </div>
          <pre tabIndex={0}>{text}</pre>
        </div>
      ))}
    </Dialog>
  );
}
