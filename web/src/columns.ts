// How the columns of caret-bpf's tables are shown.

import { absent, count, duration, exactDuration, percent, rate } from "./format";
import type { Value } from "./model";
import { printable } from "./printable";

export type Unit = "duration" | "rate" | "percent" | "count" | "identifier" | "text";

const units: Record<string, Unit> = {
  rate: "rate",
  share: "percent", peak: "percent",
  pid: "identifier", tid: "identifier", hop: "identifier",
};
for (const name of ["min", "mean", "p50", "p90", "p99", "p99_9", "max", "period", "timer_period", "busy", "recorded", "clock_uncertainty",
  "total", "executor", "other_callbacks", "wakeup_latency", "longest", "longest_wakeup_latency", "behind_time", "latency", "median_a", "median_b", "change"]) {
  units[name] = "duration";
}

/** Columns that a table leaves out until all are asked for: what is seldom asked, or the same in most rows. */
const details = new Set(["percentiles_exact", "p99_9", "p90", "min", "pid", "publisher_pid", "subscription_pid", "joined_by_topic", "clock_source", "clock_uncertainty",
  "callback_name", "path", "context", "recorded", "recordings", "recordings_a", "recordings_b", "effective_a", "effective_b",
  "medians_exact", "run_noise_percent", "run_noise_from", "behind_time", "migrations", "preemptions", "intervals"]);

export function unitOf(column: string): Unit {
  const known = units[column];
  if (known) return known;
  if (column.endsWith("_pid") || column.endsWith("_tid")) return "identifier";
  if (column.endsWith("_time") || column.endsWith("_latency")) return "duration";
  if (column.endsWith("percent") || column === "p") return "percent";
  return "text";
}

export const isDetail = (column: string) => details.has(column);

/** The heading: node_name is "node", detectable_percent "detectable". */
export function heading(column: string): string {
  return column.replace(/_(name|percent)$/, "").replace(/^p99_9$/, "p99.9").replaceAll("_", " ");
}

/** Shows a value of a column. Numbers that no column has said anything of are counts. */
export function shown(column: string, value: Value, unit: Unit = unitOf(column)): string {
  if (value === null || value === "") return absent;
  if (typeof value === "string") return printable(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  switch (unit) {
    case "duration": return duration(value);
    case "rate": return rate(value);
    case "percent": return percent(value);
    case "identifier": return String(value);
    default: return Number.isInteger(value) ? count(value) : value.toFixed(2);
  }
}

/** What is exact where the shown value is rounded. */
export function exactly(value: Value, unit: Unit): string | null {
  if (typeof value !== "number") return null;
  if (unit === "duration") return Number.isInteger(value) ? exactDuration(value) : `${value} ns`;
  return Number.isInteger(value) ? null : String(value);
}
