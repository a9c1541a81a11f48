import assert from "node:assert/strict";
import { test } from "node:test";
import type { Network, Query } from "../src/api/types.ts";
import { beside, written } from "../src/logic/beside.ts";
import { shapeOf } from "../src/logic/extents.ts";
import { asTree, endsOf, heats, saved, widthOf } from "../src/logic/graph.ts";
import { freshness, Rates, title } from "../src/logic/live.ts";
import { domain, worthAt } from "../src/logic/quality.ts";

function query(id: string, rows: number, cpu_seconds: number): Query {
  return { id, name: null, preview: false, freshness: null, cost: { rows, cpu_seconds } } as Query;
}

test("rates and shares are taken between reports", () => {
  const rates = new Rates();
  const [first] = rates.report([query("a", 100, 1)], 10);
  assert.deepEqual([first?.rate, first?.share], [null, null]);
  rates.report([query("a", 100, 1), query("b", 0, 0)], 11);
  const [a, b] = rates.report([query("a", 300, 4), query("b", 50, 1)], 12);
  assert.deepEqual([a?.rate, b?.rate], [100, 50]);
  assert.deepEqual([a?.share, b?.share], [0.75, 0.25]);
});

test("a count that falls begins a new measurement", () => {
  const rates = new Rates();
  rates.report([query("a", 1000, 9)], 1);
  assert.equal(rates.report([query("a", 10, 0)], 2)[0]?.rate, null);
  assert.equal(rates.report([query("a", 30, 0)], 3)[0]?.rate, 20);
});

test("freshness is the sum of what is known, and unknown if nothing is", () => {
  const parts = { input_lag: 1, disorder_wait: null, own_work: 0.5 };
  assert.equal(freshness({ ...query("a", 0, 0), freshness: parts }), 1.5);
  assert.equal(freshness(query("a", 0, 0)), null);
});

test("a preview is called by its id", () => {
  assert.equal(title({ id: "q7", name: null, preview: true }), "preview q7");
  assert.equal(title({ id: "q7", name: "slow", preview: false }), "slow");
});

const NETWORK: Network = {
  stream: "traffic",
  parts: [{ kind: "windows over shared panes", queries: ["a", "b"] }],
  boxes: [
    { id: "source", kind: "source", title: "traffic", figures: { rows: 1000 } },
    { id: "part:w", kind: "part", title: "windows", figures: { cpu_seconds: 3 } },
    { id: "part:f", kind: "part", title: "frames", figures: { cpu_seconds: 1 } },
    { id: "query:a", kind: "query", title: "a", figures: { answers: 10 } },
    { id: "query:b", kind: "query", title: "b", figures: { answers: 20 } },
  ],
  arrows: [
    { source: "source", target: "part:w", rows: 1000 },
    { source: "part:w", target: "query:a", rows: 10 },
    { source: "part:w", target: "query:b", rows: 20 },
  ],
};

test("time is shared out among the boxes that measure it", () => {
  assert.deepEqual([...heats(NETWORK.boxes)], [["part:w", 0.75], ["part:f", 0.25]]);
});

test("more rows make wider arrows, within bounds", () => {
  const widths = [null, 0, 10, 1000, 1e12].map(widthOf);
  assert.deepEqual(widths, [1, 1, 2.5, 5.5, 10]);
});

test("arrows of the engine and of the service are the same", () => {
  const own = { start: "a", end: "b", rows: 1 } as unknown as Network["arrows"][number];
  assert.deepEqual(endsOf(own), ["a", "b"]);
});

test("copies are avoided for each query but one", () => {
  assert.deepEqual(saved(NETWORK), { queries: 2, parts: 1, rows: 1000, avoided: 1000 });
});

test("on a narrow page the network is a tree, no box twice and none left out", () => {
  const { boxes, height } = asTree(NETWORK, 320, 50);
  assert.deepEqual(
    boxes.map(({ id, x }) => [id, x]),
    [["source", 0], ["part:w", 28], ["query:a", 56], ["query:b", 56], ["part:f", 0]],
  );
  assert.ok(boxes.every(({ x, width }) => x + width === 320));
  assert.equal(height, 5 * 66 - 16);
});

test("then and now are beside each other by key, the newest row of each", () => {
  const columns = [
    { name: "k", type: "string" },
    { name: "window_end", type: "int64" },
    { name: "v", type: "double" },
  ];
  const shape = shapeOf(columns, ["k"]);
  const pairs = beside([["a", 1, 5]], [["a", 3, 7], ["a", 2, 6], ["b", 3, 1]], shape);
  assert.deepEqual(pairs, [
    { key: "a", then: ["a", 1, 5], now: ["a", 3, 7] },
    { key: "b", then: null, now: ["b", 3, 1] },
  ]);
});

test("a value of the slider is written as the service reads it", () => {
  assert.equal(written(60, true), "1970-01-01 00:01:00");
  assert.equal(written(60, false), "60");
});

test("a graph of quality is level beyond its ends", () => {
  const points = [[0, 1], [2, 1], [10, 0]] as const;
  assert.deepEqual([-1, 1, 6, 99].map((x) => worthAt(points, x)), [1, 1, 0.5, 0]);
  assert.deepEqual([domain(points, 12), domain([], null), domain([[3, 1]], null)], [[0, 12], [0, 1], [3, 4]]);
});
