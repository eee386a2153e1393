// What is known of the selected execution of a callback.

import type { App } from "../app";
import { h, button, type Child } from "../dom";
import { duration, exactDuration, time } from "../format";
import type { OffCpu } from "../model";
import { at } from "../names";
import { printable } from "../printable";
import { address } from "../router";
import { byWhom, kinds, within } from "./offcpu";
import type { Selection } from "./selection";
import { placeIn } from "./selection";
import type { Exact } from "./tile";

const statuses: Record<string, string> = {
  unwound: "left by an exception",
  start_missing: "its begin was not recorded",
  recording_end: "was running when the recording ended",
  thread_exit: "its thread exited in it",
};

export interface Execution { callback: number; begin: number; end: number | null; depth: number; status: string; thread: number }

export function executionOf(tiles: Exact[], selection: Selection): Execution | null {
  for (const tile of tiles) {
    const i = placeIn(tile, selection);
    if (i < 0) continue;
    const end = tile.end[i]!;
    return { ...selection, callback: tile.callback[i]!, end: Number.isNaN(end) ? null : end, status: tile.status[i]! };
  }
  return null;
}

/** One line for who cannot see the picture. */
export function spoken({ names }: App, execution: Execution): string {
  const length = execution.end === null || execution.status === "start_missing" ? "duration unknown" : duration(execution.end - execution.begin);
  return `${names.callback(execution.callback)}, ${names.thread(execution.thread)}, at ${time(execution.begin, 1000)}, ${length}`;
}

export function details(app: App, execution: Execution, tiles: Exact[], offCpu: OffCpu[] | null, go: { show: (from: number, to: number) => void; close: () => void }): HTMLElement {
  const { names, recording } = app;
  const callback = recording.callbacks[execution.callback];
  const took = execution.end === null ? null : execution.end - execution.begin;
  const list = h("dl");
  const say = (term: string, ...description: Child[]) => list.append(h("dt", {}, term), h("dd", {}, ...description));
  const node = callback?.node ?? null;
  say("node", node === null ? "unknown" : h("a", { href: address("graph", { select: `node.${node}` }) }, names.node(node)));
  say("started by", at(recording.topics, callback?.topic) && callback
    ? h("span", {}, `${printable(callback.kind ?? "unknown kind")} `, h("a", { href: address("graph", { select: `topic.${callback.topic}` }) }, names.topic(callback.topic)))
    : names.cause(callback));
  if (callback?.symbol) say("function", h("code", {}, printable(callback.symbol)));
  const begins = execution.status !== "start_missing";
  say(begins ? "begin" : "end", h("span", { title: exactDuration(execution.begin) }, time(execution.begin, 1)));
  say("duration", !begins || took === null ? `unknown: its ${begins ? "end" : "begin"} was not recorded` : h("span", { title: exactDuration(took) }, duration(took)));
  if (execution.status) say("status", statuses[execution.status] ?? printable(execution.status));
  say("thread", `${names.thread(execution.thread)} of ${names.process(recording.threads[execution.thread]?.process)}`);
  if (execution.depth > 0) say("nested", `in ${execution.depth === 1 ? "another callback" : `${execution.depth} others`}`);

  const off = within(execution, offCpu);
  if (off) {
    const least = offCpu?.some((times) => times.more) ? "at least " : "";
    for (const sum of off) {
      say(kinds[sum.kind], h("span", { "data-off-cpu": sum.kind, "data-value": sum.total }, `${least}${duration(sum.total)}, as far as seen`), sum.others.length > 0 ? h("div", { class: "quiet" }, byWhom(sum)) : null);
    }
  } else if (recording.offCpu) {
    say("off the CPU", "not known here");
  }

  const causes = messagesTo(tiles, execution);
  for (const { topic, fromThread, fromTime } of causes) {
    say("message", `${names.topic(topic)} from ${names.thread(fromThread)}, published `,
      h("span", { title: exactDuration(execution.begin - fromTime) }, `${duration(execution.begin - fromTime)} before`), " ",
      button("show both", () => go.show(Math.min(fromTime, execution.begin), Math.max(execution.begin, execution.end ?? execution.begin))));
  }
  return h("section", { class: "details", "aria-label": "the selected callback" },
    h("header", {}, h("h2", {}, names.callback(execution.callback)), button("×", go.close, { "aria-label": "close", title: "close (Esc)" })),
    list,
    h("p", { class: "links" }, callback ? h("a", { href: address("callbacks", { select: execution.callback }) }, "statistics of this callback") : null));
}

function messagesTo(tiles: Exact[], execution: Execution): { topic: number; fromThread: number; fromTime: number }[] {
  const found = new Map<string, { topic: number; fromThread: number; fromTime: number }>();
  for (const { messages } of tiles) {
    for (let i = 0; i < messages.toTime.length; i++) {
      if (messages.toThread[i] !== execution.thread || messages.toTime[i] !== execution.begin) continue;
      const message = { topic: messages.topic[i]!, fromThread: messages.fromThread[i]!, fromTime: messages.fromTime[i]! };
      found.set(Object.values(message).join("."), message);
    }
  }
  return [...found.values()];
}
