// Which nodes' callbacks were seen in which threads: a thread is of several nodes, or a node of several threads, so only
// what ran tells. It is known of the tiles that have come.

import { at } from "../names";
import type { Callback } from "../model";
import type { PreparedTile } from "./tile";

export class Residents {
  private readonly looked = new WeakSet<PreparedTile>();
  private readonly nodes = new Map<number, number[]>();

  constructor(private readonly callbacks: Callback[]) {}

  /** Takes what a tile tells. */
  look(tile: PreparedTile): void {
    if (this.looked.has(tile)) return;
    this.looked.add(tile);
    if (tile.exact) {
      tile.thread.forEach((thread, i) => this.saw(thread, tile.callback[i]!));
      return;
    }
    for (const { thread, longest } of tile.threads.values()) {
      for (const callback of new Set(longest.flatMap((one) => (one ? [one[0]] : [])))) this.saw(thread, callback);
    }
  }

  /** The nodes of a thread, in the order of their numbers. */
  of(thread: number): number[] {
    return this.nodes.get(thread) ?? [];
  }

  private saw(thread: number, callback: number): void {
    const node = at(this.callbacks, callback)?.node ?? null;
    const known = this.nodes.get(thread) ?? [];
    if (node === null || known.includes(node)) return;
    this.nodes.set(thread, [...known, node].sort((a, b) => a - b));
  }
}
