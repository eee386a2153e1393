// Threads: which share of the time they were in callbacks.

import type { View } from "../app";
import { addBar } from "../bar";
import { fillWith } from "../failure";
import type { Rows } from "../model";
import { h } from "../dom";
import { table } from "../table";
import { section } from "./page";

export const threadsView: View = async ({ source }, element, _, signal) => {
  const place = h("div");
  element.append(place);
  await fillWith(place, () => source.get<Rows>("loads"), (answer) => section("Which share of the time threads were in callbacks",
    h("p", { class: "quiet" }, "A row without a node is a thread as a whole. The peak is its busiest second."),
    table(answer, {
      name: "loads",
      caption: "load of threads",
      nothing: "No callback was recorded.",
      details: (column) => ["callback_name", "period", "recorded"].includes(column),
      decorate: (cell, column, row) => {
        const whole = answer.rows[row]![answer.columns.indexOf("node_name")] === null;
        if (whole) cell.classList.add("strong");
        if (column !== "share") return;
        const share = Number(answer.rows[row]![answer.columns.indexOf("share")]);
        addBar(cell, 80, [{ name: "cpu_time", size: share }, { name: "none", size: Math.max(0, 100 - share) }]);
      },
    })), signal);
};
