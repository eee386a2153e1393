// Shows values as caret-bpf's tables do.

/** What is shown where a value is not known. */
export const absent = "–";

const units = [[1e3, "µs"], [1e6, "ms"], [1e9, "s"]] as const;

/** Groups digits: 1,234,567. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Nanoseconds with the unit that fits and three to four significant digits. */
export function duration(ns: number | null | undefined): string {
  if (ns === null || ns === undefined) return absent;
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  for (const [unit, name] of units) {
    if (size / unit < 99.995) return `${(ns / unit).toFixed(2)} ${name}`;
    if (size / unit < 999.95) return `${(ns / unit).toFixed(1)} ${name}`;
  }
  return `${count(ns / 1e9)} s`;
}

/** The same to the nanosecond: 12,640,123 ns. */
export function exactDuration(ns: number): string {
  return `${count(ns)} ns`;
}

/** A time since the begin of the recording, with as many decimals as tell steps of so many nanoseconds apart. */
export function time(ns: number, step: number): string {
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9)));
  return `${(ns / 1e9).toFixed(decimals)} s`;
}

/** Events a second. */
export function rate(perSecond: number | null | undefined): string {
  return perSecond === null || perSecond === undefined ? absent : `${perSecond.toFixed(1)}/s`;
}

/** A share of 100. */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined) return absent;
  const size = Math.abs(share);
  return `${share.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0)} %`;
}

/** Unix nanoseconds, given as text because they exceed what a number holds exactly, in UTC. */
export function dateTime(unix: string): string {
  const ns = BigInt(unix);
  return `${new Date(Number(ns / 1_000_000n)).toISOString().replace("T", " ").slice(0, 23)} UTC`;
}

/** One thing or several: "1 callback", "2,000 callbacks". */
export function several(n: number, thing: string, things = `${thing}s`): string {
  return `${count(n)} ${n === 1 ? thing : things}`;
}
