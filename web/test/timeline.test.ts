import assert from "node:assert/strict";
import test from "node:test";
import { makeSystem } from "../mock/system.mjs";
import { tileKey } from "../src/keys";
import type { Recording, Tile } from "../src/model";
import type { Source } from "../src/source";
import { levelFor, parent, tilesOf } from "../src/timeline/grid";
import { byWhom, says, within } from "../src/timeline/offcpu";
import { Residents } from "../src/timeline/residents";
import { neighbour, placeIn } from "../src/timeline/selection";
import { TileStore } from "../src/timeline/store";
import { prepare, type Exact } from "../src/timeline/tile";
import { Viewport } from "../src/timeline/viewport";
import { tickStep, ticks } from "../src/ticks";

const system = makeSystem(3000) as { duration: number; levels: number; executions: { begin: number; end: number | null }[]; answer: (key: string) => unknown };

/** A source that counts what it was asked, and answers when all microtasks ran. */
function sourceOf(holds: (key: string) => boolean = () => true): Source & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    holds,
    get: async <T>(key: string) => {
      asked.push(key);
      return system.answer(key) as T;
    },
  };
}

const settle = () => new Promise((done) => setTimeout(done, 5));

/** Shows a part until nothing is awaited. */
async function shown(store: TileStore, from: number, to: number, level: number) {
  for (let round = 0; round < 50; round++) {
    const { found, awaited } = store.show(from, to, level);
    if (awaited === 0) return found;
    await settle();
  }
  throw new Error("tiles did not come");
}

test("zooming keeps the time below the pointer", () => {
  const view = new Viewport(1e11);
  view.width = 1000;
  const at = view.time(300);
  for (let i = 0; i < 40; i++) view.zoom(0.8, 300);
  assert.ok(Math.abs(view.time(300) - at) < 1);
  for (let i = 0; i < 100; i++) view.zoom(0.5, 300);
  assert.equal(Math.round(view.span), view.least);
});

test("the view never leaves the recording", () => {
  const view = new Viewport(1e9);
  view.width = 100;
  view.zoom(1000, 20);
  assert.deepEqual([view.from, view.to], [0, 1e9]);
  view.zoom(0.1, 0);
  view.pan(-1e6);
  assert.equal(view.from, 0);
  view.pan(1e9);
  assert.ok(Math.abs(view.to - 1e9) < 1e-3);
  view.show(-5e9, -4e9);
  assert.deepEqual([view.from, view.to], [0, 1e9]);
});

test("a thread is of the nodes whose callbacks ran in it, in coarse tiles and in exact ones", () => {
  const { callbacks } = system.answer("recording") as Recording;
  const tile = (level: number) => system.answer(tileKey(level, 0)) as Tile;
  const coarse = tile(0);
  const exact = tile(system.levels);
  assert.ok(!coarse.exact && exact.exact);
  for (const [answer, pairs] of [
    [coarse, coarse.threads.flatMap(({ thread, longest }) => longest.flatMap((one) => (one ? [[thread, one[0]] as const] : [])))],
    [exact, exact.callbacks.thread.map((thread, i) => [thread, exact.callbacks.callback[i]!] as const)],
  ] as const) {
    const residents = new Residents(callbacks);
    const prepared = prepare(answer);
    residents.look(prepared);
    residents.look(prepared);
    for (const [thread] of pairs) {
      const nodes = new Set(pairs.filter(([other]) => other === thread).map(([, callback]) => callbacks[callback]!.node));
      assert.deepEqual(residents.of(thread), [...nodes].sort((a, b) => a! - b!));
    }
    assert.ok(pairs.length > 0);
    assert.deepEqual(residents.of(9999), []);
  }
});

test("bins are at least as wide as pixels and at most about twice, and tiles cover the view", () => {
  for (const span of [1e11, 3.3e10, 1e9, 12345]) {
    const level = levelFor(1e11, span, 1100, 512, 40);
    const pixelsPerBin = 1100 / (512 * 2 ** level * (span / 1e11));
    assert.ok(level === 0 || (pixelsPerBin >= 0.999 && pixelsPerBin <= 2.001), `${pixelsPerBin}`);
    const tiles = tilesOf(1e11, 4e10, 4e10 + span, level);
    assert.ok(tiles.length <= 6, `${tiles.length} tiles`);
  }
  assert.equal(levelFor(1e11, 10, 1100, 512, 7), 7);
  assert.deepEqual(tilesOf(100, 0, 100, 1).map(({ index }) => index), [0, 1]);
  assert.deepEqual(tilesOf(0, 0, 1000, levelFor(0, 1000, 1100, 512, 5)), [{ level: 0, index: 0 }]);
  assert.deepEqual(parent({ level: 3, index: 5 }), { level: 2, index: 2 });
  assert.equal(parent({ level: 0, index: 0 }), null);
});

test("what is shown is what the tiles have, whole", async () => {
  const store = new TileStore(sourceOf(), system.duration, 256, () => undefined, 0);
  const [from, to] = [system.duration * 0.4, system.duration * 0.4 + 2e8];
  const found = await shown(store, from, to, levelFor(system.duration, to - from, 1100, 512, system.levels));
  assert.ok(found.length > 0 && found.every(({ tile }) => tile.exact));
  const keys = new Set<string>();
  for (const { tile } of found) {
    const { begin, end, thread, depth } = tile as Exact;
    begin.forEach((at, i) => {
      if (at <= to && (Number.isNaN(end[i]!) ? at : end[i]!) >= from) keys.add(`${thread[i]} ${at} ${depth[i]}`);
    });
  }
  const expected = system.executions.filter(({ begin, end }) => begin <= to && (end ?? begin) >= from).length;
  assert.equal(keys.size, expected);
});

test("no more tiles are held than the bound", async () => {
  const store = new TileStore(sourceOf(), system.duration, 6, () => undefined, 0);
  const level = Math.min(5, system.levels);
  for (const { index } of tilesOf(system.duration, 0, system.duration, level)) {
    const width = system.duration / 2 ** level;
    await shown(store, index * width + 1, (index + 1) * width - 1, level);
    assert.ok(store.held <= 6);
  }
});

test("below an exact tile nothing is asked", async () => {
  const source = sourceOf();
  const store = new TileStore(source, system.duration, 256, () => undefined, 0);
  const at = system.duration / 3;
  let level = 0;
  while (!(system.answer(tileKey(level, Math.floor(at / system.duration * 2 ** level))) as Tile).exact) level++;
  await shown(store, at, at + 10, level);
  const asked = source.asked.length;
  await shown(store, at, at + 10, system.levels);
  assert.equal(source.asked.length, asked);
});

test("a report shows the deepest tile that it has, and says that finer ones are not held", async () => {
  const store = new TileStore(sourceOf((key) => /level=[01]&/.test(key)), system.duration, 256, () => undefined, 0);
  const at = system.duration / 3;
  const [found] = await shown(store, at, at + 1e6, 6);
  assert.equal(found!.address.level, 1);
  assert.equal(found!.coarserThanWanted, true);
});

test("a tile that does not come is not asked again until it is said so", async () => {
  let asked = 0;
  const store = new TileStore({ holds: () => true, get: async () => { asked++; throw new Error("down"); } }, system.duration, 256, () => undefined, 0);
  for (let i = 0; i < 3; i++) {
    store.show(0, system.duration, 0);
    await settle();
  }
  assert.equal(asked, 1);
  assert.ok(store.error);
  store.retry();
  store.show(0, system.duration, 0);
  await settle();
  assert.equal(asked, 2);
});

test("tiles that one zooms past are not asked for", async () => {
  const source = sourceOf();
  const store = new TileStore(source, system.duration, 256, () => undefined, 20);
  for (const level of [0, 1, 2, 3]) store.show(1, 2, level);
  await new Promise((done) => setTimeout(done, 60));
  assert.deepEqual(source.asked, [tileKey(3, 0)]);
  store.show(1, 2, 4);
  store.stop();
  await new Promise((done) => setTimeout(done, 60));
  assert.equal(source.asked.length, 1);
});

test("Tab goes from execution to execution of a thread, each once", () => {
  const tile = prepare({
    exact: true,
    callbacks: { thread: [0, 0, 1, 0], callback: [1, 2, 3, 4], begin: [10, 12, 11, 30], end: [20, 15, 13, null], depth: [0, 1, 0, 0], status: ["complete", "complete", null, "recording_end"], until: [null, null, null, 45] },
    publishes: { thread: [], topic: [], t: [] },
    messages: { topic: [], fromThread: [], fromTime: [], toThread: [], toTime: [] },
  }) as Exact;
  const first = { thread: 0, begin: 10, depth: 0 };
  const second = neighbour([tile, tile], first, 1)!;
  assert.deepEqual(second, { thread: 0, begin: 12, depth: 1 });
  const third = neighbour([tile, tile], second, 1)!;
  assert.equal(third.begin, 30);
  assert.equal(neighbour([tile, tile], third, 1), null);
  assert.deepEqual(neighbour([tile], third, -1), second);
  assert.equal(tile.status[placeIn(tile, third)], "recording_end");
  assert.equal(tile.status[placeIn(tile, first)], "");
  assert.equal(tile.until[placeIn(tile, third)], 45);
});

test("an execution of unknown begin stands at its end", () => {
  const tile = prepare({
    exact: true,
    callbacks: { thread: [0], callback: [1], begin: [null], end: [20], depth: [0], status: ["start_missing"] },
    publishes: { thread: [], topic: [], t: [] },
    messages: { topic: [], fromThread: [], fromTime: [], toThread: [], toTime: [] },
  }) as Exact;
  assert.equal(tile.begin[0], 20);
  assert.equal(tile.status[0], "start_missing");
});

test("ticks are round and few", () => {
  assert.equal(tickStep(100, 10), 10);
  assert.equal(tickStep(100, 9), 20);
  assert.deepEqual(ticks(0.5, 31, 10), [10, 20, 30]);
});

test("times off the CPU are told with who had to do with them, each once", () => {
  const times = {
    thread: [1, 1, 1, 2, 1], kind: ["preempted", "blocked", "woken", "preempted", "preempted"] as ("preempted" | "blocked" | "woken")[],
    from: [5, 40, 60, 10, 80], to: [30, 60, 64, 90, 120], other: ["hog", "waker", "waker", "hog", null],
  };
  const execution = { callback: 0, begin: 10, end: 100, depth: 0, status: "", thread: 1 };
  const sums = within(execution, [times, times])!;
  assert.deepEqual(sums.map(({ kind, total }) => [kind, total]), [["preempted", 40], ["blocked", 20], ["woken", 4]]);
  assert.equal(byWhom(sums[0]!), "20 ns hog had the CPU, 20 ns by unknown");
  assert.equal(says(times, 1), "blocked for 20 ns: waker ran where it was woken");
  assert.equal(says(times, 4), "preempted for 40 ns: by whom is not known");
  assert.equal(within({ ...execution, end: null }, [times]), null);
  assert.equal(within(execution, null), null);
});
