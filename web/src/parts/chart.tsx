// A live chart: windows as steps and frames as shaded rectangles over the rows of the stream. uPlot
// draws axes and handles the pointer; the shapes are ours.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { number as shownNumber, seconds } from "../logic/format.ts";
import type { Extent } from "../logic/extents.ts";
import { drawShapes, type Drawn } from "./shapes.ts";

export interface ChartProps {
  readonly drawn: readonly Drawn[];
  readonly temporal: boolean;
  readonly frames: boolean;
  /** How far back from the newest value it shows, in units of the axis; null is all. */
  readonly span: number | null;
  readonly valueName: string;
  readonly onName: string;
  /** Whether the rows of the stream have a scale of their own. */
  readonly apart: boolean;
  readonly about: string;
  readonly dark: boolean;
}

const HEIGHT = 340;

export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const given = useRef(props);
  const zoomed = useRef<readonly [number, number] | null>(null);
  given.current = props;
  useEffect(() => {
    const own = box.current;
    if (own === null) return undefined;
    const made = new uPlot(options(given, zoomed, tip, own.clientWidth), dataOf(props, null), own);
    plot.current = made;
    // A picture for those who cannot see it; the table has the same.
    const observer = new ResizeObserver(() => {
      if (own.clientWidth > 0) made.setSize({ width: own.clientWidth, height: HEIGHT });
    });
    observer.observe(own);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [props.temporal, props.dark, props.apart]);
  useEffect(() => {
    plot.current?.setData(dataOf(props, zoomed.current));
  });
  const press = (event: KeyboardEvent) => {
    const made = plot.current;
    const next = made === null ? undefined : moved(made, event.key);
    if (made === null || next === undefined) return;
    zoomed.current = next;
    made.setData(dataOf(given.current, next));
    event.preventDefault();
  };
  return (
    <div class="chart">
      <div
        ref={box}
        class="chart-plot"
        role="img"
        tabIndex={0}
        aria-label={`${props.about} Arrow keys move, + and - zoom, 0 shows all.`}
        onKeyDown={press}
      />
      <div ref={tip} class="chart-tip" hidden />
    </div>
  );
}

/** uPlot is given the ends of the scales alone: what lies between is drawn from the extents. */
function dataOf(props: ChartProps, zoomed: readonly [number, number] | null): uPlot.AlignedData {
  return [[...(zoomed ?? reach(props))], span(props, "value"), span(props, "series")];
}

function reach({ drawn, span }: ChartProps): [number, number] {
  let from = Infinity;
  let to = -Infinity;
  for (const { extents, series } of drawn) {
    for (const extent of extents) {
      from = Math.min(from, extent.from);
      to = Math.max(to, extent.to);
    }
    from = Math.min(from, series.x[0] ?? Infinity);
    to = Math.max(to, series.x[series.x.length - 1] ?? -Infinity);
  }
  if (from > to) return [0, 1];
  const width = span ?? to - from;
  return [Math.max(to - width, span === null ? from : to - width), to + Math.max(width, 1e-9) * 0.02];
}

function moved(plot: uPlot, key: string): readonly [number, number] | null | undefined {
  const { min = 0, max = 1 } = plot.scales["x"] ?? {};
  const [from, to] = [min ?? 0, max ?? 1];
  const width = to - from;
  const middle = (from + to) / 2;
  const moves: Record<string, readonly [number, number] | null> = {
    ArrowLeft: [from - width / 5, to - width / 5],
    ArrowRight: [from + width / 5, to + width / 5],
    "+": [middle - width / 4, middle + width / 4],
    "=": [middle - width / 4, middle + width / 4],
    "-": [middle - width, middle + width],
    "0": null,
  };
  return moves[key];
}

type Given = { readonly current: ChartProps };

function options(
  given: Given,
  zoomed: { current: readonly [number, number] | null },
  tip: { readonly current: HTMLDivElement | null },
  width: number,
): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis: uPlot.Axis = {
    stroke: colour("--soft"),
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { stroke: colour("--grid"), width: 1, size: 4 },
    font: "12px system-ui, sans-serif",
  };
  const range = (which: "value" | "series") => () => span(given.current, which);
  const unseen = { paths: () => null, points: { show: false } };
  const series: uPlot.Series[] = [{}, { scale: "y", ...unseen }, { scale: "s", ...unseen }];
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { show: false }, y: false },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    scales: {
      x: {
        time: given.current.temporal,
        range: (_, min, max) => [zoomed.current?.[0] ?? min, zoomed.current?.[1] ?? max],
      },
      y: { range: range("value") },
      s: { range: range("series") },
    },
    series,
    axes: [
      { ...axis, size: 46, ...(given.current.temporal ? { values: times } : {}) },
      { ...axis, size: 52, values: (_, ticks) => ticks.map(shownNumber) },
      ...(given.current.apart
        ? [{ ...axis, side: 1, scale: "s", grid: { show: false }, size: 52 }]
        : []),
    ],
    hooks: {
      draw: [(plot) => drawShapes(plot, given.current, colour)],
      setSelect: [
        (plot) => {
          const { left, width: chosen } = plot.select;
          if (chosen < 4) return;
          zoomed.current = [plot.posToVal(left, "x"), plot.posToVal(left + chosen, "x")];
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          plot.setData(dataOf(given.current, zoomed.current));
        },
      ],
      ready: [
        (plot) =>
          plot.over.addEventListener("dblclick", () => {
            zoomed.current = null;
            plot.setData(dataOf(given.current, null));
          }),
      ],
      setCursor: [(plot) => showTip(plot, given.current, tip.current)],
    },
  };
}

/** Times of the day, and the date below the first of each day. */
function times(_: uPlot, ticks: number[], __: number, ___: number, step: number): string[] {
  let day = "";
  return ticks.map((tick) => {
    const text = new Date(tick * 1000).toISOString();
    const date = text.slice(0, 10);
    const clock = step >= 86_400 ? "" : text.slice(11, step < 60 ? 19 : 16);
    const first = date !== day;
    day = date;
    return first ? `${clock}\n${date}`.trim() : clock;
  });
}

/** The least and greatest value of what is drawn, with some room. */
function span(props: ChartProps, which: "value" | "series"): [number, number] {
  let least = Infinity;
  let greatest = -Infinity;
  const see = (value: number | null | undefined) => {
    if (value === null || value === undefined) return;
    least = Math.min(least, value);
    greatest = Math.max(greatest, value);
  };
  for (const { extents, series } of props.drawn) {
    if (which === "value") for (const { value } of extents) see(value);
    if (which === "series" || !props.apart) series.y.forEach(see);
  }
  if (least > greatest) return [0, 1];
  if (least === greatest) return [least - 1, greatest + 1];
  const room = (greatest - least) * 0.06;
  // A count or a total is measured from nothing.
  return [least >= 0 && least < greatest * 0.5 ? 0 : least - room, greatest + room];
}

function showTip(plot: uPlot, props: ChartProps, tip: HTMLDivElement | null): void {
  if (tip === null) return;
  const { left = -1 } = plot.cursor;
  const at = left < 0 ? null : plot.posToVal(left, "x");
  const lines = at === null ? [] : props.drawn.flatMap((drawn) => tipLines(drawn, at, props));
  tip.hidden = lines.length === 0 || at === null;
  if (tip.hidden || at === null) return;
  const head = document.createElement("strong");
  head.textContent = props.temporal
    ? new Date(at * 1000).toISOString().slice(0, 19).replace("T", " ")
    : shownNumber(at);
  tip.replaceChildren(head, ...lines);
  const room = plot.over.clientWidth;
  tip.style.left = `${Math.min(left + 62, room - 120)}px`;
}

function tipLines(drawn: Drawn, at: number, props: ChartProps): HTMLElement[] {
  const inside = drawn.extents.filter(({ from, to }) => from <= at && at <= to);
  const extent: Extent | undefined = inside[0] ?? undefined;
  const seen = seriesAt(drawn, at);
  if (extent === undefined && seen === null) return [];
  const line = document.createElement("span");
  line.className = "chart-tip-line";
  line.style.setProperty("--own", `var(--key-${drawn.colour})`);
  const parts = [drawn.key || props.valueName];
  if (extent !== undefined) {
    const length = props.temporal ? seconds(extent.to - extent.from) : "";
    const value = extent.value === null ? "" : `${props.valueName} ${shownNumber(extent.value)}`;
    parts.push([value, props.frames ? length : "", extent.open ? "open" : ""].filter(Boolean).join(", "));
  }
  if (seen !== null) parts.push(`row ${shownNumber(seen)}`);
  line.textContent = parts.filter(Boolean).join(": ");
  return [line];
}

/** The value of the row nearest before a place. */
function seriesAt({ series }: Drawn, at: number): number | null {
  let low = 0;
  let high = series.x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((series.x[middle] as number) <= at) low = middle + 1;
    else high = middle;
  }
  return low === 0 || low === series.x.length ? null : (series.y[low - 1] ?? null);
}
