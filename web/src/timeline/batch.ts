// Rectangles by color: changing the color for each of thousands would take longer than filling them.

export class Batch {
  private readonly byColor = new Map<string, number[]>();

  add(color: string, left: number, top: number, width: number, height: number): void {
    let list = this.byColor.get(color);
    if (!list) this.byColor.set(color, (list = []));
    list.push(left, top, width, height);
  }

  fill(pen: CanvasRenderingContext2D): void {
    for (const [color, list] of this.byColor) {
      pen.fillStyle = color;
      for (let i = 0; i < list.length; i += 4) pen.fillRect(list[i]!, list[i + 1]!, list[i + 2]!, list[i + 3]!);
    }
    this.byColor.clear();
  }
}
