// The one execution of a callback that is selected. Its thread, begin and depth tell it from all others.

import type { Exact } from "./tile";

export interface Selection { thread: number; begin: number; depth: number }

export function parseSelection(text: string | null): Selection | null {
  const parts = text?.split(".").map(Number) ?? [];
  if (parts.length !== 3 || parts.some((part) => !Number.isFinite(part))) return null;
  return { thread: parts[0]!, begin: parts[1]!, depth: parts[2]! };
}

export const writeSelection = ({ thread, begin, depth }: Selection) => `${thread}.${begin}.${depth}`;

/** Its place in a tile, or -1. */
export function placeIn(tile: Exact, selection: Selection): number {
  const places = tile.byThread.get(selection.thread);
  if (!places) return -1;
  for (const i of places) if (tile.begin[i] === selection.begin && tile.depth[i] === selection.depth) return i;
  return -1;
}

/** The execution that begins next, or that began last before: on the thread, in the tiles. */
export function neighbour(tiles: Exact[], selection: Selection, step: 1 | -1): Selection | null {
  let best: Selection | null = null;
  const before = (a: Selection, b: Selection) => (a.begin - b.begin || a.depth - b.depth) * step < 0;
  for (const tile of tiles) {
    for (const i of tile.byThread.get(selection.thread) ?? []) {
      const other = { thread: selection.thread, begin: tile.begin[i]!, depth: tile.depth[i]! };
      if (before(selection, other) && (!best || before(other, best))) best = other;
    }
  }
  return best;
}
