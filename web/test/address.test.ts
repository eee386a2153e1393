import assert from "node:assert/strict";
import test from "node:test";
import { flowKey, pathKey, seriesKey, tileKey } from "../src/keys";
import { address, besides, changeAddress, numberParameter, parseRoute, timesParameter } from "../src/router";
import { parseOrder } from "../src/table";
import { parseSelection, writeSelection } from "../src/timeline/selection";

test("keys are canonical", () => {
  assert.equal(tileKey(3, 5), "tile?level=3&index=5");
  assert.equal(pathKey("[/a]-[/t b]-[/ü]"), "path?path=%5B%2Fa%5D-%5B%2Ft%20b%5D-%5B%2F%C3%BC%5D");
  assert.equal(flowKey("[/a]", 0, 7), "flow?path=%5B%2Fa%5D&from=0&to=7");
  assert.equal(seriesKey("callback", 4, "latency", 0, 9), "series?subject=callback&id=4&measure=latency&from=0&to=9");
});

test("addresses come back as they were written", () => {
  const text = "[/a&b=c]-[/t#?%]-[/d]";
  const { view, parameters } = parseRoute(address("paths", { path: text, from: "", to: null }));
  assert.equal(view, "paths");
  assert.equal(parameters.get("path"), text);
  assert.equal(parameters.has("from"), false);
});

test("parameters that are no numbers are none", () => {
  for (const hash of ["#timeline?from=", "#timeline?from=abc", "#timeline", "#timeline?from=Infinity"]) assert.equal(numberParameter(parseRoute(hash).parameters, "from"), null);
  assert.equal(numberParameter(parseRoute("#timeline?from=0").parameters, "from"), 0);
});

test("selections come back as they were written, and others are none", () => {
  const selection = { thread: 3, begin: 1_000_000_123, depth: 1 };
  assert.deepEqual(parseSelection(writeSelection(selection)), selection);
  for (const text of [null, "", "1.2", "1.2.x", "1.2.3.4"]) assert.equal(parseSelection(text), null);
});

test("a part of the time is within the recording, or all of it", () => {
  const times = (query: string) => timesParameter(new URLSearchParams(query), 1000);
  assert.deepEqual(times("begin=10&end=20"), { from: 10, to: 20 });
  assert.deepEqual(times("begin=-5&end=2000"), { from: 0, to: 1000 });
  for (const query of ["", "begin=10", "begin=20&end=10", "begin=2000&end=3000", "begin=x&end=y"]) assert.deepEqual(times(query), { from: 0, to: 1000 });
});

test("what is changed in the address leaves the rest, and tables stay arranged beside another row", () => {
  const written: string[] = [];
  Object.assign(globalThis, { location: { hash: "#callbacks?select=3&measure=period&sort.callbacks=-p99&filter.timers=a%20b" }, history: { replaceState: (_: unknown, __: string, to: string) => written.push(to) } });
  changeAddress({ measure: "latency", begin: 5 });
  changeAddress({ "sort.callbacks": null });
  assert.deepEqual(written, [
    "#callbacks?select=3&measure=latency&sort.callbacks=-p99&filter.timers=a%20b&begin=5",
    "#callbacks?select=3&measure=period&filter.timers=a%20b",
  ]);
  assert.equal(besides("callbacks", { select: 4 }), "#callbacks?select=4&sort.callbacks=-p99&filter.timers=a%20b");
  assert.equal(besides("graph", { select: "node.4" }), "#graph?select=node.4");
});

test("orders of tables that name no column are none", () => {
  assert.deepEqual(parseOrder("-p99", ["count", "p99"]), { column: 1, descending: true });
  assert.deepEqual(parseOrder("count", ["count", "p99"]), { column: 0, descending: false });
  for (const text of [null, "", "-", "constructor"]) assert.equal(parseOrder(text, ["count", "p99"]), null);
});
