// Where the time went: a bar of parts in each row of a table.

import { addBar } from "./bar";
import { shown } from "./columns";
import { h } from "./dom";
import type { Rows } from "./model";
import { table, type TableOptions } from "./table";

/** Parts in the order in which they are drawn, and what they are called. */
const partNames: Record<string, string> = {
  cpu_time: "on the CPU",
  other_callbacks: "other callbacks",
  executor: "executor and middleware",
  preempted_time: "could have run",
  blocked_time: "waited",
  wakeup_latency: "woken, no CPU yet",
};

/** The table with a column of bars and a legend. Bars are as long as their rows' means, or in each row all the same. */
export function partBars(answer: Rows, parts: string[], scale: "row" | "table", options: TableOptions): HTMLElement {
  const present = parts.filter((part) => answer.columns.includes(part));
  const places = present.map((part) => answer.columns.indexOf(part));
  const isNothing = (column: string) => answer.rows.every((row) => !row[answer.columns.indexOf(column)]);
  const sum = (row: number) => places.reduce((total, place) => total + Number(answer.rows[row]![place] ?? 0), 0);
  const most = Math.max(1, ...answer.rows.map((_, row) => sum(row)));
  const element = table(answer, {
    ...options,
    details: (column) => !["node_name", "name", "kind", "topic_name", "symbol", "count", "mean", "longest", "longest_behind", "unknown", ...present].includes(column) || (column !== "count" && isNothing(column)),
    decorate: (cell, column, row) => {
      options.decorate?.(cell, column, row);
      if (column !== "mean" || answer.rows[row]![answer.columns.indexOf("mean")] === null) return;
      addBar(cell, scale === "row" ? 130 : Math.max(1, sum(row) / most * 130), present.map((part, i) => {
        const value = answer.rows[row]![places[i]!] ?? null;
        return { name: part, size: Number(value ?? 0), says: `${partNames[part]}: ${shown(part, value)}` };
      }));
    },
  });
  return h("div", {}, h("p", { class: "legend" }, ...present.flatMap((part) => [h("i", { class: `part-${part}` }), partNames[part]!])), element);
}
