// Pictures of tiles that are not exact: a column for each bin, as high as its share of the time in callbacks, in the
// color of the node whose callback ran longest in it. They are painted once, and then stretched to where they are
// shown.

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

  private readonly pixels = new Map<number, number>();

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
    // Pixel by pixel: a canvas is ten times as slow with thousands of small rectangles.
    const image = pen.createImageData(canvas.width, canvas.height);
    const pixels = new Uint32Array(image.data.buffer);
    const top = new Map<number, number>();
    tile.threads.forEach(({ thread, busy, count, longest }, row) => {
      top.set(thread, row * height);
      for (let i = 0; i < tile.bins; i++) {
        const share = busy[i] ?? 0;
        if (share === 0 && !count[i]) continue;
        const tall = Math.max(3, Math.round(share / 255 * height)); // what is there is seen
        const pixel = this.pixelOf(longest[i]?.[0] ?? -1);
        for (let at = ((row + 1) * height - tall) * tile.bins + i; at < (row + 1) * height * tile.bins; at += tile.bins) pixels[at] = pixel;
      }
    });
    pen.putImageData(image, 0, 0);
    return { canvas, top };
  }

  /** The color of a callback as four bytes in memory. */
  private pixelOf(callback: number): number {
    let pixel = this.pixels.get(callback);
    if (pixel === undefined) {
      const [r, g, b] = this.names.callbackColor(callback).fill.match(/\d+/g)!.map(Number) as [number, number, number];
      pixel = new Uint32Array(Uint8ClampedArray.of(r, g, b, 255).buffer)[0]!;
      this.pixels.set(callback, pixel);
    }
    return pixel;
  }
}
