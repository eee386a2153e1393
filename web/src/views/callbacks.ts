// Callbacks: how long they took, where the time went, how regular they were.

import type { View } from "../app";
import { isDetail } from "../columns";
import { h } from "../dom";
import { fillWith } from "../failure";
import { measuredPanel } from "../measured";
import type { CallbackRows, Rows } from "../model";
import { printable } from "../printable";
import { address, numberParameter } from "../router";
import { table } from "../table";
import { partBars } from "../why";
import { lossesOf, section } from "./page";

export const callbacksView: View = async (app, element, parameters, signal) => {
  const { source, recording, names } = app;
  const id = numberParameter(parameters, "select");
  const detail = h("aside", { class: "detail-pane" });
  const main = h("div", { class: "main-pane" });
  element.append(h("div", { class: id === null ? "panes" : "panes with-detail" }, main, detail));
  const waits: Promise<void>[] = [];

  const callback = id === null ? undefined : recording.callbacks[id];
  if (id !== null && !callback) detail.append(h("p", { class: "quiet" }, "This recording has no such callback."));
  if (callback) {
    const panel = measuredPanel(app, "callback", callback.id, await lossesOf(app), signal);
    detail.append(
      h("header", {}, h("h2", {}, names.callback(callback.id)), h("a", { href: "#callbacks", class: "close", "aria-label": "close" }, "×")),
      h("p", { class: "quiet" }, `${names.node(callback.node)} · ${names.cause(callback)}`, callback.symbol ? ` · ${printable(callback.symbol)}` : ""),
      panel.element);
    waits.push(panel.ready);
  }

  const place = h("div");
  const timers = h("div");
  main.append(place, section("Timers: time between starts, and how late they were", timers));
  const link = (ids: (number | null)[] | undefined) => (row: number) => {
    const to = ids?.[row];
    return to === null || to === undefined || to < 0 ? null : address("callbacks", { select: to });
  };
  waits.push(
    fillWith(place, () => source.get<CallbackRows>("callbacks"), (answer) => [
      section("How long callbacks took", table(answer, { name: "callbacks", caption: "durations of callbacks", link: link(answer.ids), selected: id === null ? null : answer.ids?.indexOf(id) ?? null })),
      answer.parts
        ? section("Where the time went", h("p", { class: "quiet" }, "Means of the executions of which it is known. Of the others nothing is said."), partBars(answer.parts, callbackParts, "row", { name: "parts", caption: "parts of the durations of callbacks", link: link(answer.parts.ids) }))
        : h("p", { class: "quiet" }, "Where the time went is not recorded: ", h("code", {}, "caret-bpf record --sched"), " does that."),
    ], signal),
    fillWith(timers, () => source.get<Rows>("timers"), (answer) => table(answer, { name: "timers", caption: "periods and lateness of timers", details: (column) => isDetail(column) || ["kind", "topic_name", "subscription_node_name", "transport"].includes(column), link: link(answer.ids), nothing: "No timer was recorded." }), signal));
  await Promise.all(waits);
};

const callbackParts = ["cpu_time", "preempted_time", "blocked_time", "wakeup_latency"];
