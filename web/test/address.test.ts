import assert from "node:assert/strict";
import test from "node:test";
import { flowKey, pathKey, seriesKey, tileKey } from "../src/keys";
import { address, numberParameter, parseRoute } from "../src/router";
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
