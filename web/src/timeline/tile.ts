// A tile as it is drawn: numbers in typed arrays, the callbacks of each thread in the order of their begins.

import type { CoarseTile, ExactTile, Tile } from "../model";

export interface Exact {
  exact: true;
  more: boolean;
  longMissing: boolean;
  thread: Int32Array;
  callback: Int32Array;
  /** The end where the begin is not known: the status is start_missing then. */
  begin: Float64Array;
  /** NaN where the end is not known. */
  end: Float64Array;
  /** Until when it is known to have run of which no end is known; NaN where that is not known, either. */
  until: Float64Array;
  depth: Uint8Array;
  /** Empty where the callback ended as it should. */
  status: string[];
  /** The places of each thread's callbacks, parents before what is nested in them. */
  byThread: Map<number, Int32Array>;
  publishes: { thread: Int32Array; topic: Int32Array; t: Float64Array };
  messages: { topic: Int32Array; fromThread: Int32Array; fromTime: Float64Array; toThread: Int32Array; toTime: Float64Array };
}

export interface Coarse {
  exact: false;
  bins: number;
  threads: Map<number, CoarseTile["threads"][number]>;
  /** How many threads nothing is said of. */
  omitted: number;
}

/** What is drawn, and what the answer lacks. */
export type PreparedTile = (Exact | Coarse) & { warnings: string[] };

export function prepare(tile: Tile): PreparedTile {
  return { ...(tile.exact ? prepareExact(tile) : coarse(tile)), warnings: tile.warnings ?? [] };
}

function coarse({ bins, threads, threadsOmitted }: CoarseTile): Coarse {
  return { exact: false, bins, threads: new Map(threads.map((thread) => [thread.thread, thread])), omitted: threadsOmitted ?? 0 };
}

function prepareExact({ callbacks: c, publishes: p, messages: m, more, longMissing }: ExactTile): Exact {
  const begin = Float64Array.from(c.begin, (at, i) => at ?? c.end[i] ?? NaN);
  const depth = Uint8Array.from(c.depth);
  const places = new Map<number, number[]>();
  c.thread.forEach((thread, i) => {
    const list = places.get(thread);
    if (list) list.push(i);
    else places.set(thread, [i]);
  });
  const byThread = new Map<number, Int32Array>();
  for (const [thread, list] of places) {
    byThread.set(thread, Int32Array.from(list.sort((a, b) => begin[a]! - begin[b]! || depth[a]! - depth[b]!)));
  }
  return {
    exact: true,
    more: more === true,
    longMissing: longMissing === true,
    thread: Int32Array.from(c.thread),
    callback: Int32Array.from(c.callback),
    begin,
    end: Float64Array.from(c.end, (end) => end ?? NaN),
    until: Float64Array.from(c.begin, (_, i) => c.until?.[i] ?? NaN),
    depth,
    status: c.status.map((status) => (status === null || status === "complete" ? "" : status)),
    byThread,
    publishes: { thread: Int32Array.from(p.thread), topic: Int32Array.from(p.topic), t: Float64Array.from(p.t) },
    messages: {
      topic: Int32Array.from(m.topic),
      fromThread: Int32Array.from(m.fromThread),
      fromTime: Float64Array.from(m.fromTime),
      toThread: Int32Array.from(m.toThread),
      toTime: Float64Array.from(m.toTime),
    },
  };
}
