// Tiles halve the time from level to level: level l has 2^l of them.

export interface TileAddress { level: number; index: number }

export const tileBegin = (duration: number, { level, index }: TileAddress) => duration * (index / 2 ** level);
export const tileEnd = (duration: number, { level, index }: TileAddress) => duration * ((index + 1) / 2 ** level);

/** The deepest level whose bins are at least as wide as pixels, so that none is left out when they are drawn. */
export function levelFor(duration: number, span: number, pixels: number, bins: number, deepest: number): number {
  const tiles = duration / span * pixels / bins;
  return Math.min(deepest, Math.max(0, Math.floor(Math.log2(tiles) + 1e-9)));
}

/** The tiles of a level that show a part of the time. */
export function tilesOf(duration: number, from: number, to: number, level: number): TileAddress[] {
  if (duration <= 0) return [{ level: 0, index: 0 }];
  const n = 2 ** level;
  const first = Math.min(n - 1, Math.max(0, Math.floor(from / duration * n)));
  const last = Math.min(n - 1, Math.max(first, Math.ceil(to / duration * n) - 1));
  return Array.from({ length: last - first + 1 }, (_, i) => ({ level, index: first + i }));
}

export function parent({ level, index }: TileAddress): TileAddress | null {
  return level === 0 ? null : { level: level - 1, index: Math.floor(index / 2) };
}
