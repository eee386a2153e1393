// Names and labels of what a recording has, harmless to show.

import { absent, duration } from "./format";
import type { Callback, Recording } from "./model";
import { printable } from "./printable";
import { type Color, colorsByName, unknownColor } from "./palette";

export class Names {
  private readonly colors: Map<string, Color>;
  private readonly severalHosts: boolean;

  constructor(readonly recording: Recording) {
    this.colors = colorsByName(recording.nodes.filter((node) => !node.standard).map((node) => node.name));
    this.severalHosts = new Set(recording.processes.map((process) => process.host)).size > 1;
  }

  node(id: number | null | undefined): string {
    const node = at(this.recording.nodes, id);
    return node ? printable(node.name) : absent;
  }

  topic(id: number | null | undefined): string {
    const topic = at(this.recording.topics, id);
    return topic ? printable(topic.name) : absent;
  }

  callback(id: number): string {
    const callback = at(this.recording.callbacks, id);
    return callback ? printable(callback.name) : "callback of no known name";
  }

  /** What starts the callback: "subscription /points", "timer 10.00 ms". */
  cause(callback: Callback | undefined): string {
    if (!callback) return "unknown";
    if (callback.kind === "timer" && callback.period !== null) return `timer ${duration(callback.period)}`;
    const kind = callback.kind === null ? "unknown kind" : printable(callback.kind);
    if (callback.service) return `${kind} ${printable(callback.service)}`;
    return at(this.recording.topics, callback.topic) ? `${kind} ${this.topic(callback.topic)}` : kind;
  }

  process(id: number | null | undefined): string {
    const process = at(this.recording.processes, id);
    if (!process) return absent;
    const host = this.severalHosts && process.host ? `${printable(process.host)} ` : "";
    return `${host}${printable(process.name ?? "process")} ${process.pid}`;
  }

  thread(id: number | null | undefined): string {
    const thread = at(this.recording.threads, id);
    if (!thread) return absent;
    return thread.name ? `${printable(thread.name)} ${thread.tid}` : `thread ${thread.tid}`;
  }

  nodeColor(id: number | null | undefined): Color {
    const node = at(this.recording.nodes, id);
    return (node && this.colors.get(node.name)) ?? unknownColor;
  }

  callbackColor(id: number): Color {
    return this.nodeColor(at(this.recording.callbacks, id)?.node);
  }
}

/** What has the number, if it is one: a recorded name never chooses a member of the list. */
export function at<T>(list: T[], id: number | null | undefined): T | undefined {
  return Number.isInteger(id) ? list[id as number] : undefined;
}
