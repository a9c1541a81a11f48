import assert from "node:assert/strict";
import { test } from "node:test";
import { choices } from "../src/logic/completion.ts";
import { difference } from "../src/logic/difference.ts";
import { fits, ordered, parseSearch } from "../src/logic/find.ts";
import { placeOf } from "../src/logic/place.ts";
import { snippets } from "../src/logic/snippets.ts";

const STREAMS = [
  { name: "traffic", columns: [{ name: "ts", type: "timestamp[us]" }, { name: "speed", type: "double" }] },
  { name: "doors", columns: [{ name: "door", type: "string" }] },
];

function labels(text: string, kind?: string): string[] {
  const at = text.indexOf("|");
  const found = choices(text.replace("|", ""), at, STREAMS);
  return found.filter((own) => kind === undefined || own.kind === kind).map(({ label }) => label);
}

test("after FROM there are streams alone", () => {
  assert.deepEqual(labels("SELECT speed FROM |"), ["traffic", "doors"]);
  assert.deepEqual(labels("SELECT speed FROM tra|"), ["traffic", "doors"]);
});

test("columns are those of the streams that the text names", () => {
  assert.deepEqual(labels("SELECT | FROM doors", "column"), ["door"]);
  assert.deepEqual(labels("SELECT |", "column"), ["ts", "speed", "door"]);
});

test("inside brackets there are the words of windows", () => {
  const found = labels("SELECT speed FROM traffic [|");
  assert.ok(found.includes("RANGE") && found.includes("TUMBLING") && !found.includes("SELECT"));
  assert.ok(labels("SELECT speed FROM traffic [TUMBLING 5] WHERE |").includes("AND"));
});

test("functions of the server are offered with those that are explained", () => {
  const found = choices("SELECT ", 7, STREAMS, ["avg", "corr"]).filter(({ kind }) => kind === "function");
  assert.equal(found.filter(({ label }) => label === "avg").length, 1);
  assert.deepEqual(found.find(({ label }) => label === "corr")?.insert, "corr(");
});

test("a difference is of words, and puts together both texts", () => {
  const [before, after] = ["avg(speed) [RANGE 5 MINUTES]", "avg(speed) [RANGE 10 MINUTES] WHERE lane < 3"];
  const pieces = difference(before, after);
  assert.deepEqual(
    pieces.filter(({ kind }) => kind !== "same"),
    [
      { kind: "removed", text: "5" },
      { kind: "added", text: "10" },
      { kind: "added", text: " WHERE lane < 3" },
    ],
  );
  const side = (other: string) => pieces.filter(({ kind }) => kind !== other).map(({ text }) => text).join("");
  assert.deepEqual([side("added"), side("removed")], [before, after]);
});

test("equal texts have no difference", () => {
  assert.deepEqual(difference("SELECT 'a b'", "SELECT 'a b'"), [{ kind: "same", text: "SELECT 'a b'" }]);
});

const QUERY = {
  name: "jams",
  owner: "dina",
  tags: ["speed", "desk"],
  text: "SELECT min(speed) FROM traffic",
  description: null,
  status: "active",
  stream: "traffic",
};

test("a search has words, and fields with their beginnings", () => {
  const found = (text: string) => fits(QUERY, parseSearch(text));
  assert.deepEqual(
    ["", "jam MIN(", "owner:di", "tag:desk state:active", "stream:traf"].map(found),
    [true, true, true, true, true],
  );
  assert.deepEqual(["trucks", "owner:ada", "tag:desk state:paused"].map(found), [false, false, false]);
});

test("what has no value is last in both directions", () => {
  const items = [{ v: 2 }, { v: null }, { v: 10 }];
  const value = ({ v }: { v: number | null }) => v;
  assert.deepEqual(ordered(items, value, false).map(value), [2, 10, null]);
  assert.deepEqual(ordered(items, value, true).map(value), [10, 2, null]);
});

test("a mistake marks the word at its place", () => {
  const text = "SELECT sped\nFROM traffic";
  assert.deepEqual(placeOf(text, { offset: 7 }), { from: 7, to: 11 });
  assert.deepEqual(placeOf(text, { line: 2, column: 6 }), { from: 17, to: 24 });
  assert.deepEqual(placeOf(text, { offset: text.length }), { from: text.length - 1, to: text.length });
  assert.deepEqual(placeOf(text, null), { from: 0, to: text.length });
});

test("results are copied with quotes around what a shell or Python would read", () => {
  const [curl, python, sql] = snippets("http://127.0.0.1:8642", "q1", 'the "slow"', "SELECT 1 ");
  assert.equal(curl?.text, "curl 'http://127.0.0.1:8642/api/v1/queries/q1/results?format=csv'");
  assert.ok(python?.text.includes('engine["the \\"slow\\""].results()'));
  assert.equal(sql?.text, "SELECT 1;");
});
