import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, cell, count, plainType, position, seconds, share, time } from "../src/logic/format.ts";

test("what is not known is a dash, never a zero", () => {
  for (const write of [count, bytes, seconds, share]) assert.equal(write(null), "–");
  assert.equal(count(undefined), "–");
  assert.equal(count(0), "0");
});

test("numbers are short", () => {
  assert.deepEqual([999, 9999, 12_345, 1_234_567, 2.5e9].map(count), ["999", "9999", "12.3 k", "1.23 M", "2.5 G"]);
  assert.deepEqual([12, 41_600, 6.55e9].map(bytes), ["12 B", "41.6 kB", "6.55 GB"]);
});

test("lengths have two units at most", () => {
  assert.deepEqual(
    [0, 0.21, 3.04, 75, 3600, 90_061, -75].map(seconds),
    ["0 s", "210 ms", "3 s", "1 min 15 s", "1 h", "1 d 1 h", "−1 min 15 s"],
  );
});

test("a share that is not nothing is not written as nothing", () => {
  assert.deepEqual([0, 0.001, 0.334, 1].map(share), ["0%", "<1%", "33%", "100%"]);
});

test("times are read without zone and empty fractions", () => {
  assert.equal(time("2026-03-03T07:05:00.000Z"), "2026-03-03 07:05:00");
  assert.equal(time("2026-03-03T07:05:00.250+00:00"), "2026-03-03 07:05:00.25");
  assert.equal(cell("2026-03-03T07:05:00Z"), "2026-03-03 07:05:00");
  assert.equal(cell(null), "");
  assert.equal(cell(1234567), "1,234,567");
  assert.equal(cell(63.123456), "63.12");
});

test("positions on the axis are seconds of times and numbers as they are", () => {
  assert.equal(position("1970-01-01T00:01:00Z"), 60);
  assert.equal(position("1970-01-01 00:01:00"), 60);
  assert.equal(position(7), 7);
  assert.equal(position("7.5"), 7.5);
  assert.equal(position(null), null);
  assert.equal(position("no time"), null);
});

test("types are written without unit and zone", () => {
  assert.equal(plainType("timestamp[us, tz=UTC]"), "timestamp");
  assert.equal(plainType("list<string>"), "list<string>");
});
