/** Round steps of 1, 2 and 5 times a power of ten, so that at most so many fit between two values. */
export function tickStep(span: number, most: number): number {
  const least = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9)) ?? 10;
  return step * power;
}

/** The multiples of the step from one value to the other. */
export function ticks(from: number, to: number, step: number): number[] {
  const found: number[] = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to && found.length < 1000; i++) found.push(i * step);
  return found;
}
