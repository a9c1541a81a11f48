import assert from "node:assert/strict";
import { test } from "node:test";
import { Extents, shapeOf, steps, type Row } from "../src/logic/extents.ts";
import { measured } from "../src/logic/measured.ts";
import { thinned } from "../src/logic/thin.ts";

const column = (name: string, type = "double") => ({ name, type });

const WINDOWS = [
  column("station", "string"),
  column("window_end", "int64"),
  column("mph"),
  column("complete", "bool"),
];
const FRAMES = [
  column("station", "string"),
  column("frame_start", "int64"),
  column("frame_end", "int64"),
  column("slowest"),
  column("change", "string"),
  column("final", "bool"),
];

function added(columns: typeof WINDOWS, rows: readonly Row[], keys = ["station"]): Extents {
  const shape = shapeOf(columns, keys);
  const extents = new Extents(shape, shape.values[0] ?? null);
  for (const row of rows) extents.add(row);
  return extents;
}

test("the shape of an answer is read from its columns", () => {
  const windows = shapeOf(WINDOWS, ["station"]);
  assert.deepEqual([windows.kind, windows.keys, windows.end, windows.values], ["windows", [0], 1, [2]]);
  const frames = shapeOf(FRAMES, ["station"]);
  assert.deepEqual([frames.kind, frames.start, frames.end, frames.values], ["frames", 1, 2, [3]]);
  const ranked = shapeOf([column("window_end", "int64"), column("on_end", "timestamp[us]"), column("v")]);
  assert.deepEqual([ranked.end, ranked.values], [1, [2]]);
  const rows = shapeOf([column("ts", "timestamp[us]"), column("speed")], [], "ts");
  assert.deepEqual([rows.kind, rows.end, rows.values], ["rows", 0, [1]]);
});

test("a number by which is grouped is a key and no value", () => {
  const shape = shapeOf([column("lane", "int32"), column("window_end", "int64"), column("n", "int64"), column("m")], ["lane"]);
  assert.deepEqual([shape.keys, shape.values], [[0], [3]]);
});

//  window ends   10        20        30
//  value          5    .    7    .    6
test("windows are steps, each for the stretch that is its own", () => {
  const extents = added(WINDOWS, [["a", 20, 7, true], ["a", 10, 5, false], ["a", 30, 6, true]]);
  assert.deepEqual(steps(extents.of("a")), {
    x: [0, 10, 10, 20, 20, 30],
    y: [5, 5, 7, 7, 6, 6],
  });
});

test("where a window is missing the line is broken", () => {
  const columns = [column("window_start", "int64"), column("window_end", "int64"), column("v")];
  const extents = added(columns, [[0, 10, 1], [20, 30, 2]], []);
  assert.deepEqual(steps(extents.of("")), {
    x: [0, 10, 10, 20, 20, 30],
    y: [1, 1, null, null, 2, 2],
  });
});

//  frame of a   3 ~~ 5       first report: open
//               3 ~~~~~~ 9   it has grown
//               3 ~~~~~~~~ 11 and is final
test("an open frame grows, and is one frame", () => {
  const extents = added(FRAMES, [
    ["a", 3, 5, 20, "+", false],
    ["a", 3, 9, 15, "u", false],
  ]);
  assert.deepEqual([extents.size, extents.openCount], [1, 1]);
  assert.deepEqual(extents.of("a").map(({ from, to, value }) => [from, to, value]), [[3, 9, 15]]);
  extents.add(["a", 3, 11, 15, "u", true]);
  assert.deepEqual(extents.of("a").map(({ to, open }) => [to, open]), [[11, false]]);
});

test("an answer that is withdrawn is gone", () => {
  const extents = added(FRAMES, [["a", 3, 5, 20, "+", false], ["a", 3, 5, 20, "-", false], ["b", 1, 2, 3, "+", true]]);
  assert.deepEqual(extents.keys(), ["b"]);
});

test("keys are in the order in which people count", () => {
  const extents = added(WINDOWS, [["I5-10", 1, 1, true], ["I5-9", 1, 1, true]]);
  assert.deepEqual(extents.keys(), ["I5-9", "I5-10"]);
});

test("the oldest extents go when there are too many", () => {
  const extents = new Extents(shapeOf(WINDOWS, ["station"]), 2, 3);
  for (let end = 0; end < 10; end += 1) extents.add(["a", end, end, true]);
  assert.deepEqual(extents.of("a").map(({ to }) => to), [7, 8, 9]);
});

test("thinned series keep the least and greatest value of each stretch", () => {
  const x = Array.from({ length: 1000 }, (_, place) => place);
  const y = x.map((place) => (place === 500 ? 99 : place === 700 ? -99 : 0));
  const thin = thinned({ x, y }, 50);
  assert.ok(thin.x.length <= 50);
  assert.ok(thin.y.includes(99) && thin.y.includes(-99));
  assert.deepEqual([...thin.x], [...thin.x].sort((one, other) => one - other));
  assert.deepEqual(thinned({ x: [1, 2], y: [3, null] }, 50), { x: [1, 2], y: [3, null] });
});

test("the column that a query measures is found", () => {
  assert.deepEqual(measured("SELECT avg(speed) AS s FROM t"), { column: "speed", same: true });
  assert.deepEqual(measured("SELECT sum(volume) AS s FROM t"), { column: "volume", same: false });
  assert.deepEqual(measured("SELECT * FROM t [FRAME THRESHOLD speed < 40]"), { column: "speed", same: true });
  assert.equal(measured("SELECT * FROM t"), null);
});
