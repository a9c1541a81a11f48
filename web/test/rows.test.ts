import assert from "node:assert/strict";
import { test } from "node:test";
import { Ring } from "../src/logic/ring.ts";
import { FOLLOWING, shown, stop } from "../src/logic/viewport.ts";

function filled(size: number, rows: number): Ring<number> {
  const ring = new Ring<number>(size);
  for (let row = 0; row < rows; row += 1) ring.push(row);
  return ring;
}

test("a ring holds the newest rows and counts all", () => {
  const ring = filled(3, 8);
  assert.deepEqual([ring.total, ring.length, ring.oldest], [8, 3, 5]);
  assert.deepEqual(ring.slice(0, 100), [5, 6, 7]);
  assert.equal(ring.at(4), undefined);
  assert.equal(ring.at(7), 7);
});

test("rows that were skipped count, and none of them is there", () => {
  const ring = filled(3, 2);
  ring.skip(100);
  ring.push(102);
  assert.deepEqual([ring.total, ring.oldest, ring.at(102)], [103, 102, 102]);
});

test("a table that follows shows the newest rows", () => {
  assert.deepEqual(shown(FOLLOWING, 50, 20, 10), { from: 40, to: 50, waiting: 0, lost: 0 });
  assert.deepEqual(shown(FOLLOWING, 5, 0, 10), { from: 0, to: 5, waiting: 0, lost: 0 });
});

test("a table that stands still keeps its rows and counts those that wait", () => {
  const view = stop(50);
  assert.deepEqual(shown(view, 53, 43, 10), { from: 43, to: 50, waiting: 3, lost: 3 });
  assert.deepEqual(shown(view, 50, 40, 10), { from: 40, to: 50, waiting: 0, lost: 0 });
});

test("a table that stands still for long shows no row that is gone", () => {
  assert.deepEqual(shown(stop(50), 200, 190, 10), { from: 50, to: 50, waiting: 150, lost: 10 });
});
