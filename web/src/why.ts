// Where the time went: a bar of parts in each row of a table.

import { addBar } from "./bar";
import { shown } from "./columns";
import { addTime, byWhom } from "./culprit";
import { h } from "./dom";
import type { Rows } from "./model";
import { table, type TableOptions } from "./table";

/** Parts in the order in which they are drawn, and what they are called. */
const partNames: Record<string, string> = {
  cpu_time: "on CPU",
  other_callbacks: "other callbacks",
  executor: "executor and middleware",
  preempted_time: "preempted",
  blocked_time: "blocked",
  wakeup_latency: "woken, no CPU yet",
};

/** Headings that are narrower than what they stand for. */
const headings: Record<string, string> = { ...partNames, other_callbacks: "others", executor: "executor", wakeup_latency: "woken" };

/** Of a table of callbacks, the rows of one. */
export function rowsOf(answer: Rows, id: number): Rows {
  const own = answer.rows.flatMap((row, i) => (answer.ids?.[i] === id ? [row] : []));
  return { ...answer, rows: own, ids: own.map(() => id) };
}

/** In tables of paths, names the row of all hops. */
export const nameWholePath = ({ columns, rows }: Rows) => (cell: HTMLTableCellElement, column: string, row: number): void => {
  if (column === "name" && Number(rows[row]![columns.indexOf("hop")]) === 0) cell.textContent = "whole path";
};

/** The parts of a callback's duration, of the time before it, and of a hop of a path. */
export const callbackParts = ["cpu_time", "preempted_time", "blocked_time", "wakeup_latency"];
export const delayParts = ["other_callbacks", "executor", "preempted_time", "blocked_time", "wakeup_latency"];
export const pathParts = ["cpu_time", ...delayParts];

/** Columns that everybody sees, besides the parts. */
const always = new Set(["recording", "hop", "node_name", "name", "topic_name", "count", "mean", "longest", "longest_behind", "preempted_by", "unknown"]);
/** Columns that everybody sees if the others do not tell rows apart. */
const further = new Set(["kind", "symbol"]);
/** Columns that are not of means: beside another recording there is no room for them. */
const ofLongest = new Set(["longest", "longest_behind"]);
/** Columns that are the same in all rows of a callback. */
const ofCallback = ["node_name", "kind", "topic_name", "symbol"];
/** The length of the longest bar, in pixels. */
const longestBar = 90;

/**
 * The table with a column of bars and a legend. Bars are as long as their rows' means: the longest one is that of the
 * table, or of the rows of the same thing. With "row" all are as long. What is the same for all rows of one callback is
 * left out.
 */
export function partBars(answer: Rows, parts: string[], scale: "row" | "table" | number[], options: TableOptions, ofOne = false): HTMLElement {
  const present = parts.filter((part) => answer.columns.includes(part));
  const places = present.map((part) => answer.columns.indexOf(part));
  const isNothing = (column: string) => answer.rows.every((row) => !row[answer.columns.indexOf(column)]);
  const names = answer.rows.map((row) => ["hop", "node_name", "name", "topic_name", "recording"].map((column) => row[answer.columns.indexOf(column)] ?? null).join("\n"));
  const areTold = new Set(names).size === names.length;
  const sum = (row: number) => places.reduce((total, place) => total + Number(answer.rows[row]![place] ?? 0), 0);
  const scaleOf = (row: number) => (scale === "row" ? row : scale === "table" ? 0 : scale[row]!);
  const most = new Map<number, number>();
  answer.rows.forEach((_, row) => most.set(scaleOf(row), Math.max(1, sum(row), most.get(scaleOf(row)) ?? 0)));
  const element = table(answer, {
    ...options,
    heading: (column) => headings[column],
    upright: ofOne,
    details: (column) => !(always.has(column) || present.includes(column) || (further.has(column) && !areTold)) || (answer.columns.includes("recording") && ofLongest.has(column)) || (column !== "count" && isNothing(column)) || (ofOne && ofCallback.includes(column)),
    decorate: (cell, column, row) => {
      options.decorate?.(cell, column, row);
      addTime(cell, answer, column, row);
      if (column !== "mean" || answer.rows[row]![answer.columns.indexOf("mean")] === null) return;
      addBar(cell, Math.max(1, sum(row) / most.get(scaleOf(row))! * longestBar), present.map((part, i) => {
        const value = answer.rows[row]![places[i]!] ?? null;
        return { name: part, size: Number(value ?? 0), says: `${partNames[part]}: ${shown(part, value)}${part === "preempted_time" ? byWhom(answer, row) : ""}` };
      }));
    },
  });
  return h("div", {}, h("p", { class: "legend" }, ...present.map((part) => h("span", { class: "legend-part" }, h("i", { class: `part-${part}` }), partNames[part]!))), element);
}
