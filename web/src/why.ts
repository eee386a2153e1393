// Where the time went: a bar of parts in each row of a table.

import { addBar } from "./bar";
import { shown } from "./columns";
import { h } from "./dom";
import type { Rows } from "./model";
import { table, type TableOptions } from "./table";

/** Parts in the order in which they are drawn, and what they are called. */
const partNames: Record<string, string> = {
  cpu_time: "CPU time",
  other_callbacks: "other callbacks",
  executor: "executor and middleware",
  preempted_time: "preempted time",
  blocked_time: "blocked time",
  wakeup_latency: "wakeup latency",
};

/**
 * The table with a column of bars and a legend. Bars are as long as their rows' means, or in each row all the same. What
 * is the same for all rows of one callback is left out.
 */
/** Of a table of callbacks, the rows of one. */
export function rowsOf(answer: Rows, id: number): Rows {
  const own = answer.rows.flatMap((row, i) => (answer.ids?.[i] === id ? [row] : []));
  return { ...answer, rows: own, ids: own.map(() => id) };
}

/** The parts of a callback's duration, and of the time before it. */
export const callbackParts = ["cpu_time", "preempted_time", "blocked_time", "wakeup_latency"];
export const delayParts = ["other_callbacks", "executor", "preempted_time", "blocked_time", "wakeup_latency"];

export function partBars(answer: Rows, parts: string[], scale: "row" | "table", options: TableOptions, ofOne = false): HTMLElement {
  const present = parts.filter((part) => answer.columns.includes(part));
  const places = present.map((part) => answer.columns.indexOf(part));
  const isNothing = (column: string) => answer.rows.every((row) => !row[answer.columns.indexOf(column)]);
  const sum = (row: number) => places.reduce((total, place) => total + Number(answer.rows[row]![place] ?? 0), 0);
  const most = Math.max(1, ...answer.rows.map((_, row) => sum(row)));
  const element = table(answer, {
    ...options,
    details: (column) => !["node_name", "name", "kind", "topic_name", "symbol", "since", "count", "mean", "longest", "longest_behind", "longest_preempted_by", "unknown", ...present].includes(column) || (column !== "count" && isNothing(column)) || (ofOne && ["node_name", "kind", "topic_name", "symbol"].includes(column)),
    decorate: (cell, column, row) => {
      options.decorate?.(cell, column, row);
      if (column !== "mean" || answer.rows[row]![answer.columns.indexOf("mean")] === null) return;
      addBar(cell, scale === "row" ? 130 : Math.max(1, sum(row) / most * 130), present.map((part, i) => {
        const value = answer.rows[row]![places[i]!] ?? null;
        return { name: part, size: Number(value ?? 0), says: `${partNames[part]}: ${shown(part, value)}` };
      }));
    },
  });
  return h("div", {}, h("p", { class: "legend" }, ...present.map((part) => h("span", { class: "legend-part" }, h("i", { class: `part-${part}` }), partNames[part]!))), element);
}
