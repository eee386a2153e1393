// What was lost, and what could not be seen: when, where and why.

import type { View } from "../app";
import { h, s } from "../dom";
import { fillWith } from "../failure";
import { exactDuration, several, time } from "../format";
import type { Loss, Losses, Rows } from "../model";
import { printable } from "../printable";
import { address } from "../router";
import { table } from "../table";
import { lostSummary } from "../lost";
import { section } from "./page";

export const lossesView: View = async (app, element, _, signal) => {
  const place = h("div");
  element.append(lostSummary(app), place);
  await fillWith(place, () => app.source.get<Losses>("losses"), ({ rows, omitted }) => [
    section("When", strip(app.recording.duration, rows)),
    section("What", omitted ? h("p", { class: "quiet" }, `${several(omitted, "more loss", "more losses")} are not in the table and not in pictures.`) : null, table(asRows(rows), {
      name: "losses",
      caption: "what was lost or not seen",
      nothing: "No loss and no blind span is recorded.",
      link: (row) => around(rows[row]!, app.recording.duration),
      details: () => false,
      unit: (column) => (column === "begin" || column === "end" ? "text" : undefined),
      decorate: (cell, column, row) => {
        if (column === "begin" || column === "end") {
          const at = rows[row]![column];
          if (at !== null) {
            (cell.querySelector("a") ?? cell).textContent = time(at, 1000);
            cell.title = exactDuration(at);
          } else cell.textContent = "unknown";
        }
        if (column === "process" && rows[row]!.process !== null) cell.textContent = app.names.process(rows[row]!.process);
        if (column === "process" && rows[row]!.process === null) cell.textContent = "all, or unknown which";
        if (column === "count" && rows[row]!.count === null) cell.textContent = "unknown";
      },
    })),
    app.recording.warnings.length > 0 ? section("Warnings", h("ul", {}, ...app.recording.warnings.map((warning) => h("li", {}, printable(warning))))) : h("p", { class: "quiet" }, "There are no warnings."),
  ], signal);
};

function asRows(losses: Loss[]): Rows {
  const columns = ["begin", "end", "reason", "count", "process", "text"] as const;
  return { columns: [...columns], rows: losses.map((loss) => columns.map((column) => loss[column])) };
}

function around(loss: Loss, duration: number): string {
  const end = loss.end ?? loss.begin;
  const margin = Math.max(1e6, end - loss.begin);
  return address("timeline", { from: Math.round(Math.max(0, loss.begin - margin)), to: Math.round(Math.min(duration, end + margin)) });
}

/** The recording from left to right, with what was lost marked. */
function strip(duration: number, losses: Loss[]): SVGSVGElement {
  const of = (at: number) => `${Math.min(100, Math.max(0, at / Math.max(1, duration) * 100))}%`;
  const marks = losses.map((loss) => {
    const width = Math.max(0.15, ((loss.end ?? loss.begin) - loss.begin) / Math.max(1, duration) * 100);
    return s("a", { href: around(loss, duration), "aria-label": printable(loss.text) },
      s("title", {}, printable(loss.text)),
      s("rect", { x: of(loss.begin), y: 0, width: `${width}%`, height: 28, class: "lost-mark" }));
  });
  return s("svg", { class: "strip", height: 46, role: "group", "aria-label": "when something was lost or not seen" },
    s("rect", { x: 0, y: 0, width: "100%", height: 28, class: "strip-ground" }), ...marks,
    s("text", { x: 0, y: 42 }, "begin"), s("text", { x: "100%", y: 42, "text-anchor": "end" }, time(duration, 1e6)));
}
