// Pictures of threads in tiles that are not exact: a column for each bin, as high as its share of the time in callbacks,
// in the color of the node whose callback ran longest in it. They are painted once, and then stretched to where they are
// shown.

import { Lru } from "../lru";
import type { Names } from "../names";
import type { Coarse } from "./tile";

/** Pictures that are kept: as many as are seen at once, and some more. */
const bound = 300;

export class Densities {
  private readonly strips = new Lru<{ tile: Coarse; canvas: HTMLCanvasElement }>(bound);
  private readonly pixels = new Map<number, number>();

  constructor(private readonly names: Names) {}

  /** The picture of a thread, one pixel wide for each bin; null if the tile does not say anything of it. */
  of(key: string, tile: Coarse, thread: number, height: number): HTMLCanvasElement | null {
    const values = tile.threads.get(thread);
    if (!values) return null;
    const name = `${key}/${thread}`;
    const known = this.strips.get(name);
    if (known?.tile === tile && known.canvas.height === height) return known.canvas;
    const canvas = this.paint(tile.bins, values, height);
    this.strips.set(name, { tile, canvas });
    return canvas;
  }

  private paint(bins: number, { busy, count, longest }: { busy: number[]; count: number[]; longest: ([number, number, number | null] | null)[] }, height: number): HTMLCanvasElement {
    const canvas = document.createElement("canvas");
    canvas.width = bins;
    canvas.height = height;
    const pen = canvas.getContext("2d")!;
    // Pixel by pixel: a canvas is ten times as slow with thousands of small rectangles.
    const image = pen.createImageData(bins, height);
    const pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < bins; i++) {
      const share = busy[i] ?? 0;
      if (share === 0 && !count[i]) continue;
      const tall = Math.max(3, Math.round(share / 255 * height)); // what is there is seen
      const pixel = this.pixelOf(longest[i]?.[0] ?? -1);
      for (let at = (height - tall) * bins + i; at < height * bins; at += bins) pixels[at] = pixel;
    }
    pen.putImageData(image, 0, 0);
    return canvas;
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
