// The tiles that are in memory: at most so many, those that were drawn last. What is wanted and not there is asked for,
// a few at a time, and what is no longer wanted is not waited for.

import { tileKey } from "../keys";
import { Lru } from "../lru";
import type { Tile } from "../model";
import type { Source } from "../source";
import { parent, tileBegin, tileEnd, tilesOf, type TileAddress } from "./grid";
import { prepare, type PreparedTile } from "./tile";

/** What is drawn for a part of the time. */
export interface Found {
  address: TileAddress;
  tile: PreparedTile;
  /** The part of the tile that is drawn: around it there may be better ones. */
  from: number;
  to: number;
  /**
   * Whether nothing better is awaited: the tile is of the wanted level, or exact, or the best that the source holds.
   */
  final: boolean;
  /** Whether the source holds nothing finer although finer was wanted. */
  coarserThanWanted: boolean;
}

const atOnce = 4;
/** Milliseconds that tiles must be wanted before they are asked for: who zooms fast passes most levels by. */
const patience = 40;

export class TileStore {
  private readonly tiles: Lru<PreparedTile>;
  private readonly underWay = new Map<string, AbortController>();
  private wanted: TileAddress[] = [];
  /** Why the last tile did not come; null after one that came. */
  error: unknown = null;
  private failed = new Set<string>();
  private asked = "";
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly source: Source, private readonly duration: number, bound: number, private readonly changed: () => void, private readonly wait = patience) {
    this.tiles = new Lru(bound);
  }

  get held(): number {
    return this.tiles.size;
  }

  get waiting(): boolean {
    return this.underWay.size > 0 || this.wanted.length > 0;
  }

  /** What to draw from one time to the other for tiles of a level; asks for what is missing. */
  show(from: number, to: number, level: number): { found: Found[]; awaited: number } {
    const ask: TileAddress[] = [];
    const found: Found[] = [];
    let awaited = 0;
    for (const address of tilesOf(this.duration, from, to, level)) {
      const best = this.find(address, ask);
      if (!best?.final) awaited++;
      if (!best) continue;
      const begin = tileBegin(this.duration, address);
      const end = tileEnd(this.duration, address);
      const last = found.at(-1);
      if (last?.tile === best.tile && last.to === begin) {
        last.to = end;
        last.final &&= best.final;
        last.coarserThanWanted ||= best.coarserThanWanted;
      } else {
        found.push({ ...best, from: begin, to: end });
      }
    }
    this.want(ask);
    return { found, awaited };
  }

  /** The best that is in memory for a tile, and notes what to ask for. */
  private find(address: TileAddress, ask: TileAddress[]): Omit<Found, "from" | "to"> | null {
    let best: { address: TileAddress; tile: PreparedTile } | null = null;
    let holder: TileAddress | null = null; // the deepest of the tile and those around it that the source holds
    for (let at: TileAddress | null = address; at; at = parent(at)) {
      const key = tileKey(at.level, at.index);
      const tile: PreparedTile | undefined = best ? this.tiles.peek(key) : this.tiles.get(key);
      if (tile && !best) best = { address: at, tile };
      if (tile?.exact) return { address: at, tile, final: true, coarserThanWanted: false };
      if (!holder && this.source.holds(key)) holder = at;
    }
    if (!holder) return best && { ...best, final: true, coarserThanWanted: true };
    if (!best || best.address.level < holder.level) {
      if (!ask.some((other) => other.level === holder.level && other.index === holder.index)) ask.push(holder);
      return best && { ...best, final: false, coarserThanWanted: false };
    }
    return { ...best, final: true, coarserThanWanted: holder.level < address.level };
  }

  /** Asks for these tiles, the first ones first, and gives up others that have not come yet. */
  private want(addresses: TileAddress[]): void {
    this.wanted = addresses.filter(({ level, index }) => !this.failed.has(tileKey(level, index)));
    const keys = new Set(this.wanted.map(({ level, index }) => tileKey(level, index)));
    for (const [key, controller] of this.underWay) if (!keys.has(key)) controller.abort();
    const all = [...keys].join();
    if (all === this.asked) return;
    this.asked = all;
    clearTimeout(this.timer);
    if (keys.size > 0) this.timer = setTimeout(() => this.next(), this.wait);
  }

  /** Lets tiles be asked for again that did not come. */
  retry(): void {
    this.failed.clear();
    this.asked = "";
    this.error = null;
  }

  stop(): void {
    this.wanted = [];
    clearTimeout(this.timer);
    for (const controller of this.underWay.values()) controller.abort();
  }

  private next(): void {
    while (this.underWay.size < atOnce) {
      const address = this.wanted.shift();
      if (!address) return;
      const key = tileKey(address.level, address.index);
      if (this.underWay.has(key) || this.tiles.peek(key)) continue;
      const controller = new AbortController();
      this.underWay.set(key, controller);
      void this.load(key, controller.signal);
    }
  }

  private async load(key: string, signal: AbortSignal): Promise<void> {
    try {
      const tile = await this.source.get<Tile>(key, signal);
      this.tiles.set(key, prepare(tile));
      this.error = null;
    } catch (error) {
      if (!signal.aborted) {
        this.error = error;
        this.failed.add(key);
      }
    } finally {
      this.underWay.delete(key);
      this.next();
      this.changed();
    }
  }
}
