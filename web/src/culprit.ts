// Whom a row of parts names: the thread that had the CPU longest, the callback that ran longest before.

import { duration } from "./format";
import type { Rows, Value } from "./model";
import { printable } from "./printable";

/** What a column says in a row; null where it says nothing, or where there is no such column. */
function valueOf(answer: Rows, row: number, column: string): Value {
  const place = answer.columns.indexOf(column);
  return place < 0 ? null : answer.rows[row]![place] ?? null;
}

/** Who had the CPU for how much of a preempted time, as the end of a sentence; nothing where that is not known. */
export function byWhom(answer: Rows, row: number): string {
  const command = valueOf(answer, row, "preempted_by");
  const time = valueOf(answer, row, "preempted_by_time");
  return typeof command === "string" && command && typeof time === "number" ? `, ${duration(time)} of it by ${printable(command)}${threadOf(answer, row)}` : "";
}

function threadOf(answer: Rows, row: number): string {
  const [pid, tid] = ["preempted_by_pid", "preempted_by_tid"].map((column) => valueOf(answer, row, column));
  return tid === null ? "" : ` (thread ${tid}${pid === null ? "" : ` of process ${pid}`})`;
}

/** Tells for how long that was of which a cell names somebody, and who exactly: in its tip, and beside a command. */
export function addTime(cell: HTMLElement, answer: Rows, column: string, row: number): void {
  const time = column === "preempted_by" || column === "longest_behind" ? valueOf(answer, row, `${column}_time`) : null;
  if (typeof time !== "number" || !cell.textContent) return;
  cell.title = `${cell.textContent}${column === "preempted_by" ? threadOf(answer, row) : ""}: ${duration(time)}`;
  if (column === "preempted_by") cell.append(` ${duration(time)}`);
}
