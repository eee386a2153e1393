import type { Value } from "./model";

/** The places of the rows in the order of a column. What has no value comes last in both directions. */
export function order(rows: Value[][], column: number, descending: boolean): number[] {
  const places = rows.map((_, i) => i);
  const sign = descending ? -1 : 1;
  return places.sort((a, b) => {
    const x = rows[a]![column] ?? null;
    const y = rows[b]![column] ?? null;
    if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1;
    if (x === y) return a - b;
    if (typeof x === "number" && typeof y === "number") return sign * (x - y);
    return sign * (String(x) < String(y) ? -1 : 1);
  });
}
