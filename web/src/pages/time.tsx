// Back over kept history: the answers of a query as they were at an earlier punctuation, beside now.

import { useEffect, useMemo, useState } from "preact/hooks";
import { api, asMistake } from "../api/client.ts";
import type { Mistake, RowObject } from "../api/types.ts";
import { beside, written, type Pair } from "../logic/beside.ts";
import type { Row } from "../logic/extents.ts";
import { cell, position, seconds } from "../logic/format.ts";
import type { LiveQuery } from "../logic/live.ts";
import { Empty, MistakeBox } from "../parts/small.tsx";
import type { Answers } from "../state/answers.ts";
import { streams } from "../state/desk.ts";

/** Milliseconds after the slider stands still. */
const PAUSE = 200;
const STEPS = 200;

export function TimeTab({ query, answers }: { query: LiveQuery; answers: Answers }) {
  const version = answers.version.value;
  const stream = streams.value.find(({ name }) => name === query.stream);
  const temporal = typeof stream?.punctuation === "string";
  const to = position(stream?.punctuation ?? null);
  const from = useMemo(() => oldest(answers), [answers, version === 0]);
  const [chosen, setChosen] = useState<number | null>(null);
  const [then, setThen] = useState<readonly Row[] | null>(null);
  const [now, setNow] = useState<readonly Row[]>([]);
  const [wrong, setWrong] = useState<Mistake | null>(null);
  const at = chosen ?? to;
  const inRows = (rows: readonly RowObject[]) =>
    rows.map((row) => answers.columns.map(({ name }) => row[name]));
  useEffect(() => {
    if (chosen === null) return undefined;
    let newest = true;
    const timer = setTimeout(() => {
      api.asOf(query.id, written(chosen, temporal)).then(
        ({ rows }) => {
          if (!newest) return;
          setThen(inRows(rows));
          setWrong(null);
        },
        (error: unknown) => newest && setWrong(asMistake(error)),
      );
    }, PAUSE);
    return () => {
      newest = false;
      clearTimeout(timer);
    };
  }, [chosen]);
  useEffect(() => setNow(answers.ring.slice(0, answers.ring.total)), [answers, version]);
  if (from === null || to === null || at === null)
    return (
      <Empty title="There is no history yet">
        <p>It begins with the first answer, and reaches as far back as the stream keeps rows.</p>
      </Empty>
    );
  if (stream?.keep !== true)
    return (
      <Empty title={`${query.stream} keeps no rows`}>
        <p>
          Declare it with <code>keep=&quot;2 hours&quot;</code> to look back.
        </p>
      </Empty>
    );
  const back = to - at;
  return (
    <div class="time">
      <div class="time-bar">
        <label for="time-slider">The answers as they were when the stream was complete to</label>
        <output for="time-slider">{written(at, temporal)}</output>
        <span class="soft">{chosen === null ? "now" : `${temporal ? seconds(back) : back} back`}</span>
        <input
          id="time-slider"
          type="range"
          min={from}
          max={to}
          step={Math.max((to - from) / STEPS, temporal ? 1 : 1e-9)}
          value={at}
          aria-valuetext={written(at, temporal)}
          onInput={(event) => {
            const value = Number(event.currentTarget.value);
            setChosen(value >= to ? null : value);
          }}
        />
      </div>
      {wrong !== null && <MistakeBox mistake={wrong} />}
      {chosen === null || then === null ? (
        <p class="soft">Move the slider (or use the arrow keys on it) to see an earlier answer beside the newest.</p>
      ) : (
        wrong === null && (
          <Beside pairs={beside(then, now, answers.shape)} answers={answers} at={written(at, temporal)} />
        )
      )}
    </div>
  );
}

/** The first bound of the answers that are here: history cannot be asked for before it. */
function oldest({ ring, shape }: Answers): number | null {
  let least: number | null = null;
  const place = shape.end ?? shape.start;
  if (place === null) return null;
  for (const row of ring.slice(0, ring.total)) {
    const at = position(row[place]);
    if (at !== null && (least === null || at < least)) least = at;
  }
  return least;
}

function Beside({
  pairs,
  answers,
  at,
}: {
  pairs: readonly Pair[];
  answers: Answers;
  at: string;
}) {
  const { shape, columns } = answers;
  const bound = shape.end ?? shape.start;
  const places = [...(bound === null ? [] : [bound]), ...shape.values];
  return (
    <div class="rows rows-short" tabIndex={0} role="region" aria-label="Then and now">
      <table>
        <thead>
          <tr>
            <th rowSpan={2}>key</th>
            <th colSpan={places.length} class="group">
              then: {at}
            </th>
            <th colSpan={places.length} class="group">
              now
            </th>
          </tr>
          <tr>
            {[0, 1].map(() => places.map((place) => <th class="number">{columns[place]?.name}</th>))}
          </tr>
        </thead>
        <tbody>
          {pairs.map(({ key, then, now }) => (
            <tr>
              <td>{key || "all"}</td>
              {places.map((place) => (
                <td class="number then">{cell(then?.[place])}</td>
              ))}
              {places.map((place) => (
                <td class={`number ${then?.[place] !== now?.[place] ? "differs" : ""}`}>
                  {cell(now?.[place])}
                  {change(then?.[place], now?.[place])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function change(then: unknown, now: unknown) {
  if (typeof then !== "number" || typeof now !== "number" || then === now) return null;
  return (
    <span class={now > then ? "up" : "down"}>
      {now > then ? "▲" : "▼"} {cell(Math.abs(now - then))}
    </span>
  );
}
