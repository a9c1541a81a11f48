// The network as boxes at places: rows are the width of an arrow, time is the colour of a box.

import type { Arrow, Box, Network } from "../api/types.ts";

export interface Placed extends Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** Its part of the processor time of all boxes, 0 to 1; null where none is measured. */
  readonly heat: number | null;
}

export interface Route {
  readonly from: string;
  readonly to: string;
  readonly rows: number | null;
  readonly width: number;
  readonly curve: Curve | null;
}

export interface Curve {
  readonly path: string;
  /** Where its figure is written. */
  readonly x: number;
  readonly y: number;
}

type Area = Pick<Placed, "x" | "y" | "width" | "height">;

/** From the right edge of one box to the left edge of another. */
export function curveOf(from: Area, to: Area): Curve {
  const [x1, y1] = [from.x + from.width, from.y + from.height / 2];
  const [x2, y2] = [to.x, to.y + to.height / 2];
  const x = (x1 + x2) / 2;
  return { path: `M${x1},${y1}C${x},${y1} ${x},${y2} ${x2},${y2}`, x, y: (y1 + y2) / 2 };
}

/** Down from the lower left corner of one box, then to the left edge of another. */
function elbowOf(from: Area, to: Area): Curve {
  const [x, y] = [from.x + INDENT / 2, to.y + to.height / 2];
  return { path: `M${x},${from.y + from.height}V${y}H${to.x}`, x: to.x + to.width - 24, y: to.y };
}

export interface Arranged {
  readonly boxes: readonly Placed[];
  readonly routes: readonly Route[];
  readonly width: number;
  readonly height: number;
}

export function routesOf(
  network: Network,
  boxes: readonly Placed[],
  draw: (from: Area, to: Area) => Curve,
): Route[] {
  return network.arrows.map((arrow) => {
    const [from, to] = endsOf(arrow);
    const start = boxes.find(({ id }) => id === from);
    const end = boxes.find(({ id }) => id === to);
    const curve = start === undefined || end === undefined ? null : draw(start, end);
    return { from, to, rows: arrow.rows, width: widthOf(arrow.rows), curve };
  });
}

const INDENT = 28;
const GAP = 16;

/** The same as a tree, one box below the other: a narrow page has no room to the right. */
export function asTree(network: Network, width: number, height: number): Arranged {
  const boxes: Placed[] = [];
  const place = (id: string, depth: number) => {
    const box = network.boxes.find((own) => own.id === id);
    if (box === undefined || boxes.some((own) => own.id === id)) return;
    const x = depth * INDENT;
    const y = boxes.length * (height + GAP);
    boxes.push({ ...box, x, y, width: width - x, height, heat: null });
    for (const arrow of network.arrows) {
      const [from, to] = endsOf(arrow);
      // What is filled from kept rows hangs below what runs it.
      if (from === id && arrow.rows !== null) place(to, depth + 1);
    }
  };
  for (const { id } of network.boxes) place(id, 0);
  const total = Math.max(0, boxes.length * (height + GAP) - GAP);
  return { boxes, routes: routesOf(network, boxes, elbowOf), width, height: total };
}

/** Arrows are called source and target by the service, start and end by the engine. */
export function endsOf(arrow: Arrow & { start?: string; end?: string }): [string, string] {
  return [arrow.source ?? arrow.start ?? "", arrow.target ?? arrow.end ?? ""];
}

/** From a hair to ten pixels: ten times the rows are about two pixels more. */
export function widthOf(rows: number | null): number {
  if (rows === null || rows <= 0) return 1;
  return Math.min(10, 1 + 1.5 * Math.log10(rows));
}

export function heats(boxes: readonly Box[]): Map<string, number> {
  const measured = boxes.flatMap(({ id, figures }) => {
    const seconds = figures["cpu_seconds"];
    return typeof seconds === "number" ? [[id, seconds] as const] : [];
  });
  const all = measured.reduce((sum, [, seconds]) => sum + seconds, 0);
  return new Map(measured.map(([id, seconds]) => [id, all === 0 ? 0 : seconds / all]));
}

export interface Saved {
  readonly queries: number;
  readonly parts: number;
  readonly rows: number;
  /** Rows that did not have to be read again, because queries share what runs them. */
  readonly avoided: number;
}

export function saved(network: Network): Saved {
  const source = network.boxes.find(({ kind }) => kind === "source");
  const rows = Number(source?.figures["rows"] ?? 0);
  const queries = network.boxes.filter(({ kind }) => kind === "query").length;
  const parts = network.parts.length;
  // Each alone would read the stream for itself; here it is read once for all.
  return { queries, parts, rows, avoided: Math.max(0, queries - 1) * rows };
}
