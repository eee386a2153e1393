/** A pattern of oblique lines, for what was lost or could not be seen. */
export function hatch(context: CanvasRenderingContext2D, color: string, scale: number): CanvasPattern {
  const size = Math.round(8 * scale);
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const pen = tile.getContext("2d")!;
  pen.strokeStyle = color;
  pen.lineWidth = Math.max(1, 1.5 * scale);
  pen.beginPath();
  for (const offset of [-size, 0, size]) {
    pen.moveTo(offset - 1, size + 1);
    pen.lineTo(offset + size + 1, -1);
  }
  pen.stroke();
  const pattern = context.createPattern(tile, "repeat")!;
  pattern.setTransform(new DOMMatrix().scale(1 / scale));
  return pattern;
}
