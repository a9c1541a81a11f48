// Write a query: mistakes and costs come while typing, and a preview before anything stays.

import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client.ts";
import type { Query } from "../api/types.ts";
import { plainType, seconds } from "../logic/format.ts";
import { measured } from "../logic/measured.ts";
import { Code } from "../parts/code.tsx";
import { RowTable } from "../parts/rows.tsx";
import { Button, Empty, Field, MistakeBox } from "../parts/small.tsx";
import { WouldAdd } from "../parts/would-add.tsx";
import { attempt, inForce } from "../state/actions.ts";
import { useAnswers } from "../state/answers.ts";
import { useChecked } from "../state/checking.ts";
import { catalog, find, mayAsk, mayChange, queries, streams } from "../state/desk.ts";
import { go, route } from "../state/route.ts";
import { Keep } from "./query.tsx";
import { ChartOf } from "./results.tsx";

const KEY = "muntin-draft";
const draft = signal(sessionStorage.getItem(KEY) ?? "");
const preview = signal<{ query: Query; until: number } | null>(null);
const MINUTES = ["2", "10", "60"];

export function EditorPage() {
  const given = route.value.given.get("text");
  useEffect(() => {
    if (given !== null) draft.value = given;
  }, [given]);
  useEffect(() => sessionStorage.setItem(KEY, draft.value), [draft.value]);
  const checked = useChecked(draft.value);
  const [minutes, setMinutes] = useState("10");
  const ready = draft.value.trim() !== "" && checked.mistakes.length === 0;
  const run = async () => {
    if (preview.value !== null) void api.drop(preview.value.query.id).catch(() => undefined);
    preview.value = null;
    const commanded = await attempt(() => api.preview(draft.value, `${minutes} minutes`));
    if (commanded === undefined) return;
    preview.value = { query: commanded.query, until: Date.now() + Number(minutes) * 60_000 };
    void inForce(commanded);
  };
  return (
    <section class="page editor-page">
      <header class="page-head">
        <h1>Editor</h1>
        <p class="soft">Nothing stays until you keep it.</p>
      </header>
      <div class="editor">
        <div class="editor-text">
          <Code
            text={draft.value}
            onText={(text) => (draft.value = text)}
            mistakes={checked.mistakes}
            onRun={() => void run()}
            label="SQL of the query"
            example={example()}
          />
          <div class="editor-tools">
            <Button
              kind="main"
              icon="play"
              disabled={!ready || !mayAsk.value}
              title="Ctrl Enter"
              onClick={() => void run()}
            >
              Preview
            </Button>
            <Field label="for">
              <select value={minutes} onChange={(event) => setMinutes(event.currentTarget.value)}>
                {MINUTES.map((own) => (
                  <option value={own}>{own} minutes</option>
                ))}
              </select>
            </Field>
            {draft.value === "" && (
              <Button onClick={() => (draft.value = example())}>Take the example</Button>
            )}
          </div>
        </div>
        <aside class="editor-side" aria-label="Cost before it starts" aria-live="polite">
          {checked.mistakes.map((mistake) => (
            <MistakeBox mistake={mistake} />
          ))}
          {checked.addition !== null && (
            <>
              <h2>Before it starts</h2>
              <WouldAdd addition={checked.addition} plan={checked.plan} />
            </>
          )}
          {checked.addition === null && checked.mistakes.length === 0 && <Catalog />}
        </aside>
      </div>
      {preview.value !== null && (
        <Previewed key={preview.value.query.id} query={preview.value.query} until={preview.value.until} />
      )}
    </section>
  );
}

function example(): string {
  const [stream] = catalog.value.streams;
  if (stream === undefined) return "";
  const declared = streams.value.find(({ name }) => name === stream.name);
  const [key] = declared?.by ?? [];
  const value = usual(stream.name) ?? stream.columns.find(({ type }) => /double|float/.test(type))?.name ?? "*";
  const what = value === "*" ? "count(*)" : `avg(${value})`;
  const keys = key === undefined ? "" : `${key}, `;
  const group = key === undefined ? "" : `\nGROUP BY ${key}`;
  return `SELECT ${keys}window_end, ${what} AS mean\nFROM ${stream.name} [RANGE 5 MINUTES SLIDE 1 MINUTE]${group}`;
}

/** The column that others measure of a stream. */
function usual(stream: string): string | undefined {
  const texts = queries.value.filter((query) => query.stream === stream).map(({ text }) => text);
  return texts.map(measured).find((found) => found?.same === true)?.column;
}

function Catalog() {
  return (
    <>
      <h2>What there is</h2>
      {catalog.value.streams.length === 0 && <p class="soft">No stream is declared yet.</p>}
      {catalog.value.streams.map(({ name, columns }) => (
        <div class="catalog">
          <h3>{name}</h3>
          <ul>
            {columns.map((column) => (
              <li>
                <code>{column.name}</code> <span class="soft">{plainType(column.type)}</span>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}

function Previewed({ query, until }: { query: Query; until: number }) {
  const answers = useAnswers(query.id);
  const live = find(query.id);
  const left = useLeft(until);
  const kept = () => {
    preview.value = null;
    go("query", query.id);
  };
  const discard = () => {
    void attempt(() => api.drop(query.id));
    preview.value = null;
  };
  if (answers.wrong.value !== null) return <MistakeBox mistake={answers.wrong.value} />;
  return (
    <section class="preview" aria-label="Preview">
      <div class="section-head">
        <h2>Preview</h2>
        <span class="soft" role="timer">
          {left > 0 ? `expires in ${seconds(left)}` : "expired"}
        </span>
        {mayChange.value && left > 0 && <Keep query={query} onKept={kept} />}
        <Button onClick={discard}>Discard</Button>
      </div>
      {live !== undefined && answers.described.value !== null ? (
        <>
          <ChartOf answers={answers} query={live} />
          <RowTable answers={answers} label="Answers of the preview" />
        </>
      ) : (
        <Empty title={left > 0 ? "The first answers are on their way" : "The preview is over"} />
      )}
    </section>
  );
}

function useLeft(until: number): number {
  const [left, setLeft] = useState(() => Math.ceil((until - Date.now()) / 1000));
  useEffect(() => {
    const timer = setInterval(() => setLeft(Math.ceil((until - Date.now()) / 1000)), 1000);
    return () => clearInterval(timer);
  }, [until]);
  return left;
}
