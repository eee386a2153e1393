// Pictures of tiles that are not exact: a column for each bin, as high as its share of the time in callbacks, in the color of
// the node whose callback ran longest in it. They are painted once, and then stretched to where they are shown.

import { Lru } from "../lru";
import type { Names } from "../names";
import type { Coarse } from "./tile";

/** Pictures that are kept: as many as are seen at once, and some more. */
const bound = 12;

export interface Density {
  canvas: HTMLCanvasElement;
  /** The upper edge of each thread's strip in the canvas. */
  top: Map<number, number>;
}

export class Densities {
  private readonly pictures = new Lru<{ tile: Coarse; picture: Density }>(bound);

  constructor(private readonly names: Names) {}

  of(key: string, tile: Coarse, height: number): Density {
    const known = this.pictures.get(key);
    if (known?.tile === tile && known.picture.canvas.height === Math.max(1, tile.threads.length * height)) return known.picture;
    const picture = this.paint(tile, height);
    this.pictures.set(key, { tile, picture });
    return picture;
  }

  private paint(tile: Coarse, height: number): Density {
    const canvas = document.createElement("canvas");
    canvas.width = tile.bins;
    canvas.height = Math.max(1, tile.threads.length * height);
    const pen = canvas.getContext("2d")!;
    const top = new Map<number, number>();
    tile.threads.forEach(({ thread, busy, count, longest }, row) => {
      top.set(thread, row * height);
      for (let i = 0; i < tile.bins; i++) {
        const share = busy[i] ?? 0;
        if (share === 0 && !count[i]) continue;
        const tall = Math.max(3, Math.round(share / 255 * height)); // what is there is seen
        pen.fillStyle = this.names.callbackColor(longest[i]?.[0] ?? -1).fill;
        pen.fillRect(i, (row + 1) * height - tall, 1, tall);
      }
    });
    return { canvas, top };
  }
}
