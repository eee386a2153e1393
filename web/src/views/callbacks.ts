// Callbacks: how long they took, where the time went in them and before them, how regular they were.

import type { App, View } from "../app";
import { isDetail } from "../columns";
import { h, type Child } from "../dom";
import { fillWith } from "../failure";
import { measuredPanel } from "../measured";
import type { CallbackRows, Rows } from "../model";
import { printable } from "../printable";
import { besides, numberParameter } from "../router";
import { table } from "../table";
import { callbackParts, delayParts, partBars, rowsOf } from "../why";
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
    const panel = measuredPanel(app, "callback", callback.id, await lossesOf(app), parameters, signal);
    const why = h("div", { class: "own-why" });
    detail.append(
      h("header", {}, h("h2", {}, names.callback(callback.id)), h("a", { href: besides("callbacks", {}), class: "close", "aria-label": "close" }, "×")),
      h("p", { class: "quiet" }, `${names.node(callback.node)} · ${names.cause(callback)}`, callback.symbol ? ` · ${printable(callback.symbol)}` : ""),
      panel.element, why);
    waits.push(panel.ready);
    if (recording.scheduling || recording.offCpu) waits.push(fillWith(why, () => askWhy(app), (answers) => whyOf(answers, callback.id), signal));
  }

  const place = h("div");
  const delays = h("div");
  const offCpu = h("div");
  const timers = h("div");
  main.append(place, delays, offCpu, section("Timers: time between starts, and how late they were", timers));
  const link = (ids: (number | null)[] | undefined) => (row: number) => {
    const to = ids?.[row];
    return to === null || to === undefined || to < 0 ? null : besides("callbacks", { select: to });
  };
  waits.push(
    fillWith(place, () => source.get<CallbackRows>("callbacks"), (answer) => [
      section("How long callbacks took", table(answer, { name: "callbacks", caption: "durations of callbacks", link: link(answer.ids), selected: id === null ? null : answer.ids?.indexOf(id) ?? null })),
      answer.parts
        ? section("Where the time went", h("p", { class: "quiet" }, "Means of the executions of which it is known. Of the others nothing is said."), partBars(answer.parts, callbackParts, "row", { name: "parts", caption: "parts of the durations of callbacks", link: link(answer.parts.ids) }))
        : h("p", { class: "quiet" }, "Where the time went is not recorded: ", h("code", {}, "caret-bpf record --sched"), " does that."),
    ], signal),
    fillWith(timers, () => source.get<Rows>("timers"), (answer) => table(answer, { name: "timers", caption: "periods and lateness of timers", details: (column) => isDetail(column) || ["kind", "topic_name", "subscription_node_name", "transport"].includes(column), link: link(answer.ids), nothing: "No timer was recorded." }), signal));
  if (recording.offCpu) {
    waits.push(
      fillWith(delays, () => source.get<Rows | null>("delays"), (answer) => section("Where the time before callbacks went",
        h("p", { class: "quiet" }, "Since the timer was due, or the message was published. Means of the executions of which it is known."),
        answer ? partBars(answer, delayParts, "row", { name: "delays", caption: "parts of the time before callbacks", link: link(answer.ids) }) : notWithin()), signal),
      fillWith(offCpu, () => source.get<Rows | null>("offcpus"), (answer) => section("What kept callbacks off the CPU",
        h("p", { class: "quiet" }, whoIsOther),
        answer ? offCpuTable(answer, "off-cpu", link(answer.ids)) : notWithin()), signal));
  } else {
    delays.append(h("p", { class: "quiet" }, "What happened before callbacks, and who kept them off the CPU, is not recorded: ", h("code", {}, "caret-bpf record --sched=full"), " does that."));
  }
  await Promise.all(waits);
};

const notWithin = () => h("p", { class: "quiet" }, "No time off the CPU is recorded within a callback.");

const whoIsOther = "The other command is that of the thread that got the CPU or, where the callback was blocked, of the one that ran where it was woken.";

function offCpuTable(answer: Rows, name: string, link?: (row: number) => string | null): HTMLElement {
  return table(answer, {
    name, caption: "times off the CPU within callbacks, by who had to do with them", ...(link ? { link } : {}),
    details: (column) => isDetail(column) || (!link && ["node_name", "kind", "topic_name", "symbol", "period", "mean"].includes(column)),
  });
}

interface WhyAnswers { parts: Rows | null; delays: Rows | null; offCpu: Rows | null }

async function askWhy({ source, recording }: App): Promise<WhyAnswers> {
  const { parts } = await source.get<CallbackRows>("callbacks");
  const [delays, offCpu] = recording.offCpu ? await Promise.all([source.get<Rows | null>("delays"), source.get<Rows | null>("offcpus")]) : [null, null];
  return { parts, delays, offCpu };
}

/** Why one callback took as long, and began as late, as it did. */
function whyOf({ parts, delays, offCpu }: WhyAnswers, id: number): HTMLElement[] {
  const some = (answer: Rows | null, title: string, show: (rows: Rows) => Child) => {
    const own = answer && rowsOf(answer, id);
    return own && own.rows.length > 0 ? [section(title, show(own))] : [];
  };
  return [
    ...some(parts, "Where its time went", (rows) => partBars(rows, callbackParts, "row", { name: "own-parts", caption: "parts of its durations" }, true)),
    ...some(delays, "Where the time before it went", (rows) => partBars(rows, delayParts, "row", { name: "own-delays", caption: "parts of the time before it" }, true)),
    ...some(offCpu, "What kept it off the CPU", (rows) => offCpuTable(rows, "own-off-cpu")),
  ];
}
