/** The part of the recording that is shown, in nanoseconds since its begin. It never leaves the recording. */
export class Viewport {
  from: number;
  to: number;
  /** Pixels across. */
  width = 1;

  constructor(readonly duration: number, readonly least = 1000) {
    this.from = 0;
    this.to = Math.max(duration, least);
  }

  get span(): number {
    return this.to - this.from;
  }

  get nsPerPixel(): number {
    return this.span / this.width;
  }

  x(time: number): number {
    return (time - this.from) / this.span * this.width;
  }

  time(x: number): number {
    return this.from + x / this.width * this.span;
  }

  show(from: number, to: number): void {
    const whole = Math.max(this.duration, this.least);
    const span = Math.min(whole, Math.max(this.least, to - from));
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(0, middle - span / 2), whole - span);
    this.to = this.from + span;
  }

  /** Shows `factor` times as much, and keeps the time at x where it is. */
  zoom(factor: number, x: number): void {
    const at = this.time(x);
    const whole = Math.max(this.duration, this.least);
    const span = Math.min(whole, Math.max(this.least, this.span * factor));
    const from = at - x / this.width * span;
    this.from = Math.min(Math.max(0, from), whole - span);
    this.to = this.from + span;
  }

  pan(pixels: number): void {
    const by = pixels * this.nsPerPixel;
    this.show(this.from + by, this.to + by);
  }
}
