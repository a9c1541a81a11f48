// A table of the newest rows, newest first. It stands still while somebody reads further down.

import { useRef, useState } from "preact/hooks";
import type { Answers } from "../state/answers.ts";
import { isNumeric } from "../logic/extents.ts";
import { cell, words } from "../logic/format.ts";
import { RING } from "../logic/ring.ts";
import { FOLLOWING, shown, stop, type Viewport } from "../logic/viewport.ts";
import { Button, Empty } from "./small.tsx";
import { useVirtual } from "./virtual.ts";

const ROW = 30;

export function RowTable({ answers, label }: { answers: Answers; label: string }) {
  answers.version.value;
  const [view, setView] = useState<Viewport>(FOLLOWING);
  const { ring, columns } = answers;
  const seen = shown(view, ring.total, ring.oldest, RING);
  const length = seen.to - seen.from;
  const { box, from, to, above, below } = useVirtual(length, ROW);
  const jumping = useRef(false);
  const scrolled = () => {
    const top = box.current?.scrollTop ?? 0;
    if (jumping.current) {
      jumping.current = top > 0;
      return;
    }
    if (top > ROW / 2 && view.stoppedAt === null) setView(stop(ring.total));
    if (top <= 1 && view.stoppedAt !== null) setView(FOLLOWING);
  };
  const jump = () => {
    setView(FOLLOWING);
    if (box.current === null || box.current.scrollTop === 0) return;
    jumping.current = true;
    box.current.scrollTop = 0;
  };
  if (ring.total === 0)
    return (
      <Empty title="No answers yet">
        <p>They come when the first window or frame is certain.</p>
      </Empty>
    );
  return (
    <div class="rows-frame">
      <div class="rows-bar">
        <span role="status">
          {view.stoppedAt === null ? (
            <>Following: {words(ring.total, "row")} so far</>
          ) : (
            <>
              Standing still. <strong>{words(seen.waiting, "new row")}</strong>
            </>
          )}
          {ring.total > RING && <>, the newest {RING.toLocaleString("en")} are here</>}
        </span>
        {view.stoppedAt !== null && (
          <Button icon="now" kind="main" onClick={jump}>
            Jump to now
          </Button>
        )}
      </div>
      <div
        class="rows"
        ref={box}
        onScroll={scrolled}
        tabIndex={0}
        role="region"
        aria-label={label}
      >
        <table aria-rowcount={length + 1}>
          <thead>
            <tr>
              {columns.map(({ name, type }) => (
                <th class={isNumeric(type) ? "number" : ""} title={type}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {above > 0 && <tr style={{ height: above }} aria-hidden="true" />}
            {lines(answers, seen.to - to, seen.to - from)}
            {below > 0 && <tr style={{ height: below }} aria-hidden="true" />}
            {seen.lost > 0 && <Skipped rows={seen.lost} columns={columns.length} />}
          </tbody>
        </table>
      </div>
    </div>
  );
}

/** The rows of these numbers, newest first, with a line where some are missing. */
function lines({ ring, columns, markers }: Answers, from: number, to: number) {
  const found = [];
  for (let number = to - 1; number >= Math.max(from, ring.oldest); number -= 1) {
    const row = ring.at(number);
    if (row === undefined) continue;
    const open = row[columns.findIndex(({ name }) => name === "final")] === false;
    found.push(
      <tr key={number} class={open ? "open" : ""}>
        {columns.map(({ type }, place) => (
          <td class={isNumeric(type) ? "number" : ""}>{cell(row[place])}</td>
        ))}
      </tr>,
    );
    for (const { before, rows } of markers)
      if (before === number)
        found.push(<Skipped key={`before-${number}`} rows={rows} columns={columns.length} />);
  }
  return found;
}

function Skipped({ rows, columns }: { rows: number | null; columns: number }) {
  return (
    <tr class="skipped">
      <td colSpan={columns}>
        {rows === null ? "older rows are not here" : `skipped ${words(rows, "row")}`}: the download
        has all that are kept
      </td>
    </tr>
  );
}
