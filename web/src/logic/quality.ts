// Graphs of quality of service: lines through points, level beyond the first and the last one.

import type { Point } from "../api/types.ts";

export function worthAt(points: readonly Point[], x: number): number {
  const [first] = points;
  const last = points[points.length - 1];
  if (first === undefined || last === undefined) return 0;
  if (x <= first[0]) return first[1];
  for (let place = 1; place < points.length; place += 1) {
    const [left, worth] = points[place - 1] as Point;
    const [right, next] = points[place] as Point;
    if (x > right) continue;
    return right === left ? next : worth + ((next - worth) * (x - left)) / (right - left);
  }
  return last[1];
}

/** How far the graph is drawn: its points, and where the query is now. */
export function domain(points: readonly Point[], now: number | null): [number, number] {
  const places = points.map(([x]) => x).concat(now === null ? [] : [now]);
  if (places.length === 0) return [0, 1];
  const from = Math.min(...places);
  const to = Math.max(...places);
  return from === to ? [from, from + 1] : [from, to];
}
