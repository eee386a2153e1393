// Messages: how long they took from publish to callback, and which were lost.

import type { View } from "../app";
import { isDetail } from "../columns";
import { h } from "../dom";
import { fillWith } from "../failure";
import { measuredPanel } from "../measured";
import type { Rows } from "../model";
import { printable } from "../printable";
import { besides, numberParameter } from "../router";
import { table } from "../table";
import { lossesOf, section } from "./page";

/** A table of an answer, and beside it what the selected row took. The row's place is its ID. */
function tableAndDetail(options: {
  view: string;
  key: "communications" | "topics";
  subject: "communication" | "topic";
  title: string;
  nothing: string;
  details: (column: string) => boolean;
  describe: (answer: Rows, row: number) => [string, string];
}): View {
  return async (app, element, parameters, signal) => {
    const id = numberParameter(parameters, "select");
    const main = h("div", { class: "main-pane" });
    const detail = h("aside", { class: "detail-pane" });
    element.append(h("div", { class: id === null ? "panes" : "panes with-detail" }, main, detail));
    let ready = Promise.resolve();
    const losses = await lossesOf(app);
    await fillWith(main, () => app.source.get<Rows>(options.key), (answer) => {
      if (id !== null && answer.rows[id]) {
        const [title, below] = options.describe(answer, id);
        const panel = measuredPanel(app, options.subject, id, losses, parameters, signal);
        ready = panel.ready;
        detail.replaceChildren(
          h("header", {}, h("h2", {}, title), h("a", { href: besides(options.view, {}), class: "close", "aria-label": "close" }, "×")),
          h("p", { class: "quiet" }, below), panel.element);
      } else if (id !== null) {
        detail.replaceChildren(h("p", { class: "quiet" }, "This recording has no such row."));
      }
      return section(options.title, table(answer, { name: options.key, caption: options.title, details: options.details, link: (row) => besides(options.view, { select: row }), selected: id, nothing: options.nothing }));
    }, signal);
    await ready;
  };
}

const text = (answer: Rows, row: number, column: string) => printable(String(answer.rows[row]![answer.columns.indexOf(column)] ?? "unknown"));

export const communicationsView = tableAndDetail({
  view: "communications",
  key: "communications",
  subject: "communication",
  title: "From publish to callback",
  nothing: "No messages between recorded nodes are known.",
  details: isDetail,
  describe: (answer, row) => [text(answer, row, "topic_name"), `${text(answer, row, "publisher_node_name")} → ${text(answer, row, "subscription_node_name")} · ${text(answer, row, "transport")}`],
});

export const topicsView = tableAndDetail({
  view: "topics",
  key: "topics",
  subject: "topic",
  title: "Time between publishes of topics",
  nothing: "No publish was recorded.",
  details: (column) => isDetail(column) || ["callback_name", "kind", "subscription_node_name", "transport", "timer_period", "missed"].includes(column),
  describe: (answer, row) => [text(answer, row, "topic_name"), `published by ${text(answer, row, "node_name")}`],
});
