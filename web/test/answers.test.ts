import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import test from "node:test";
import { makeSystem } from "../mock/system.mjs";
import { exactly, heading, shown, unitOf } from "../src/columns";
import { flowSays, slowestWindows } from "../src/flow";
import { chosen, measured } from "../src/graph";
import { graphAnswers } from "../src/graphanswers";
import { curve, layOutGraph } from "../src/graphlayout";
import { Lru } from "../src/lru";
import type { Graph, Recording } from "../src/model";
import { Names } from "../src/names";
import { paletteColor } from "../src/palette";
import { find } from "../src/search";
import { order } from "../src/sort";
import { CachedSource, ReportSource, SourceUntil, type Source } from "../src/source";
import { placeAmong, stack } from "../src/stacked";
import { rowsOf } from "../src/why";

const system = makeSystem(200) as { answer: (key: string) => unknown };
const recording = system.answer("recording") as Recording;

test("rows are sorted by numbers and names, and what has no value comes last", () => {
  const rows = [[3], [null], [10], [1], [null]];
  assert.deepEqual(order(rows, 0, false), [3, 0, 2, 1, 4]);
  assert.deepEqual(order(rows, 0, true), [2, 0, 3, 1, 4]);
  assert.deepEqual(order([["b"], [null], ["a"]], 0, false), [2, 0, 1]);
});

test("cells show values with the unit of their column, and unknown ones as such", () => {
  assert.equal(shown("p99", 1_500_000), "1.50 ms");
  assert.equal(shown("cpu_time", 0), "0 ns");
  assert.equal(shown("p99", null), "–");
  assert.equal(shown("count", 1234), "1,234");
  assert.equal(shown("pid", 4100), "4100");
  assert.equal(shown("rate", 99.96), "100.0/s");
  assert.equal(shown("node_name", "/a\u0007"), "/a\\x07");
  assert.equal(exactly(1_500_000, unitOf("max")), "1,500,000 ns");
  assert.equal(exactly(1 / 3, "rate"), "0.3333333333333333");
  assert.equal(heading("p99_9"), "p99.9");
  assert.equal(heading("node_name"), "node");
});

test("a bounded map drops what was used longest ago", () => {
  const map = new Lru<number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.get("a");
  map.set("c", 3);
  assert.deepEqual([map.get("a"), map.get("b"), map.get("c"), map.size], [1, undefined, 3, 2]);
});

test("what several ask at once is asked once, and asked again behind an error", async () => {
  let asked = 0;
  const source: Source = { holds: () => true, get: async <T>() => { if (++asked === 1) throw new Error("down"); return 7 as T; } };
  const cached = new CachedSource(source, 4);
  const both = await Promise.allSettled([cached.get("graph"), cached.get("graph")]);
  assert.deepEqual(both.map(({ status }) => status), ["rejected", "rejected"]);
  assert.equal(await cached.get("graph"), 7);
  await cached.get("graph");
  assert.equal(asked, 2);
});

test("a question ends when nobody waits for its answer any more, and not before", async () => {
  const ended: string[] = [];
  const source: Source = {
    holds: () => true,
    get: <T>(key: string, signal?: AbortSignal) => new Promise<T>((resolve, reject) => {
      signal!.addEventListener("abort", () => {
        ended.push(key);
        reject(signal!.reason);
      });
      if (key === "quick") resolve(1 as T);
    }),
  };
  const cached = new CachedSource(source, 4);
  const [first, second] = [new AbortController(), new AbortController()];
  const both = [new SourceUntil(cached, first.signal).get("graph"), new SourceUntil(cached, second.signal).get("graph")];
  first.abort();
  await assert.rejects(both[0]!);
  assert.deepEqual(ended, []);
  second.abort();
  await assert.rejects(both[1]!);
  assert.deepEqual(ended, ["graph"]);
  const third = new AbortController();
  assert.equal(await cached.get("quick", third.signal), 1);
  third.abort();
  assert.equal(await cached.get("quick"), 1);
  assert.deepEqual(ended, ["graph"]);
});

test("what is said of ways is of all, and how many are drawn", () => {
  const flow = { columns: ["/a", "/t"], messages: [{ times: [1, 2], fate: "received" as const }, { times: [1], fate: "lost" as const }], messagesTotal: 9000, shown: 2 };
  assert.equal(flowSays({ ...flow, ways: 9001, fates: { received: 8000, lost: 1001 }, droppedShown: 1 }),
    "9,001 ways of 9,000 messages: 8,000 came to the end (1 drawn), 1,001 lost (1 drawn).");
  assert.equal(flowSays(flow), "9,000 ways. Drawn are 2: 1 came to the end, 1 lost.");
  assert.equal(flowSays({ ...flow, messagesTotal: 2 }), "2 ways: 1 came to the end, 1 lost.");
});

test("names of programs do not choose members of lists", () => {
  const names = new Names(recording);
  for (const hostile of ["length", "constructor", "__proto__", -1, 1.5, 1e9] as unknown as number[]) {
    assert.equal(names.topic(hostile), "–");
    assert.equal(names.node(hostile), "–");
    assert.equal(names.callback(hostile), "callback of no known name");
  }
  const service = recording.callbacks.find((callback) => callback.service)!;
  assert.equal(names.cause(service), "service /map_server/get_map");
});

const pack = (answers: unknown) => gzipSync(JSON.stringify(answers)).toString("base64");

test("a report's answers are read part by part, and what it lacks is said", async () => {
  const packed = [pack({ graph: { nodes: [1] }, topics: 2 }), pack({ losses: 3 }), "", pack({})];
  const unpacked: number[] = [];
  const report = new ReportSource('{"format":2,"parts":[["graph","topics"],["losses"],["loads"],["timers"]]}', (part) => {
    unpacked.push(part);
    return packed[part]!;
  });
  assert.deepEqual(await report.get("graph"), { nodes: [1] });
  assert.deepEqual(await Promise.all([report.get("topics"), report.get("losses"), report.get("losses")]), [2, 3, 3]);
  assert.deepEqual(unpacked, [0, 1]);
  assert.equal(report.holds("constructor"), false);
  await assert.rejects(report.get("tile?level=9&index=1"), /does not hold/);
  await assert.rejects(report.get("loads"), /damaged/);
  await assert.rejects(report.get("timers"), /damaged/);
  assert.throws(() => new ReportSource('{"format":1}', () => ""), /format 1/);
  for (const contents of ['{"format":2,"par', '{"format":2}', "null"]) assert.throws(() => new ReportSource(contents, () => ""), /damaged/);
});

test("of a report, the parts that were used last are kept unpacked", async () => {
  const keys = Array.from({ length: 40 }, (_, part) => `key${part}`);
  let unpacked = 0;
  const report = new ReportSource(JSON.stringify({ format: 2, parts: keys.map((key) => [key]) }), (part) => {
    unpacked++;
    return pack({ [keys[part]!]: part });
  });
  const all = await Promise.all(keys.map((key) => report.get(key)));
  assert.deepEqual(all, keys.map((_, part) => part));
  assert.equal(await report.get("key39"), 39);
  assert.equal(unpacked, 40);
  assert.equal(await report.get("key0"), 0);
  assert.equal(unpacked, 41);
});

test("nodes, topics and functions are found by parts of their names", () => {
  assert.deepEqual(find(recording, "  "), []);
  assert.equal(find(recording, "planner")[0]?.text, "/planner");
  assert.ok(find(recording, "RECT").some(({ kind }) => kind === "topic"));
  assert.ok(find(recording, "detector on_event").some(({ kind }) => kind === "callback"));
  assert.equal(find(recording, "no such thing").length, 0);
  const hostile = find(recording, "script")[0]!;
  assert.ok(!/[\u0000-\u001f\u202e]/.test(hostile.text));
});

test("the graph leaves out what every node has, and edges of unknown nodes", () => {
  const graph = system.answer("graph") as Graph;
  const app = { recording, names: new Names(recording), source: null as unknown as Source };
  const standard = recording.nodes.find((node) => node.standard)!.id;
  const other = graph.edges[0]!;
  const more: Graph = { ...graph, edges: [...graph.edges, { ...other, to: standard }, { ...other, from: null }] };
  const what = chosen(app, more, { standard: false, selected: null, around: null })!;
  assert.equal(what.edges.length, graph.edges.length);
  assert.ok(!what.nodes.includes(standard));
  assert.equal(chosen(app, more, { standard: true, selected: null, around: null })!.edges.length, graph.edges.length + 1);
  const near = chosen(app, graph, { standard: false, selected: null, around: 0 })!;
  assert.ok(near.nodes.length < what.nodes.length && near.nodes.includes(0));
});

test("who may send to whom is shown until it is known who did", async () => {
  const graph = system.answer("graph") as Graph;
  for (const [slow, expected] of [["graph", [false, true]], ["connections", [true]]] as const) {
    const shown: boolean[] = [];
    const source: Source = {
      holds: () => true,
      get: async <T>(key: string) => {
        if (key === slow) await new Promise((done) => setTimeout(done, 5));
        return system.answer(key) as T;
      },
    };
    await graphAnswers(source, (answer, isMeasured) => {
      shown.push(isMeasured);
      assert.equal(answer.edges.length, graph.edges.length);
      assert.equal(measured(answer.edges[0]!).length > 0, isMeasured);
    });
    assert.deepEqual(shown, expected);
  }
});

test("boxes of the graph do not overlap, those without edges neither", () => {
  const boxes = Array.from({ length: 12 }, (_, id) => ({ id, width: 60 + id * 5, height: 30 }));
  const edges = [[0, 1], [1, 2], [0, 2], [2, 0], [3, 3]].map(([from, to], id) => ({ id, from: from!, to: to!, width: 80, height: 30 }));
  const layout = layOutGraph(boxes, edges, 2);
  assert.equal(layout.boxes.size, 12);
  assert.equal(layout.lines.size, 5);
  const all = [...layout.boxes.values()];
  for (const [i, a] of all.entries()) {
    for (const b of all.slice(i + 1)) {
      assert.ok(Math.abs(a.x - b.x) >= (a.width + b.width) / 2 - 0.01 || Math.abs(a.y - b.y) >= (a.height + b.height) / 2 - 0.01);
    }
  }
  assert.match(curve(layout.lines.get(0)!.points), /^M[\d.,-]+/);
});

test("hops stand on each other, and nothing stands on an unknown one", () => {
  assert.deepEqual(stack([[1, 2, null], [10, null, 30]], 3), [[1, 2, null], [11, null, null]]);
});

test("a loss lies between the messages before and behind it", () => {
  const begins = [10, 20, 30];
  assert.deepEqual([placeAmong(begins, 12, false), placeAmong(begins, 25, true)], [0.5, 1.5]);
  assert.deepEqual([placeAmong(begins, 20, false), placeAmong(begins, 20, true)], [0.5, 1.5]);
  assert.deepEqual([placeAmong(begins, 0, false), placeAmong(begins, 40, true)], [-0.5, 2.5]);
});

test("rows of one callback are those with its number", () => {
  const answer = { columns: ["a"], rows: [[1], [2], [3]], ids: [7, null, 7] };
  assert.deepEqual(rowsOf(answer, 7), { columns: ["a"], rows: [[1], [3]], ids: [7, 7] });
});

test("windows are around the slowest messages, none twice", () => {
  const windows = slowestWindows([0, 1000, 1005, 5000], [10, 100, 90, null], 6000);
  assert.deepEqual(windows.map(({ from, to }) => [from, to]), [[800, 1300], [0, 30]]);
});

test("text on colors can be read: the contrast is at least 4.5", () => {
  const luminance = (parts: number[]) => parts.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4)).reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i]!, 0);
  for (let i = 0; i < 15; i++) {
    const { fill, text } = paletteColor(i);
    const ground = luminance(fill.match(/\d+/g)!.map(Number));
    const contrast = text === "#000" ? (ground + 0.05) / 0.05 : 1.05 / (ground + 0.05);
    assert.ok(contrast >= 4.5, `${fill} ${contrast}`);
  }
});
