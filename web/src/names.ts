// Names and labels of what a recording has, harmless to show.

import { absent, duration } from "./format";
import type { Callback, Recording } from "./model";
import { printable } from "./printable";
import { type Color, colorsByName, unknownColor } from "./palette";

export class Names {
  private readonly colors: Map<string, Color>;

  constructor(readonly recording: Recording) {
    this.colors = colorsByName(recording.nodes.filter((node) => !node.standard).map((node) => node.name));
  }

  node(id: number | null | undefined): string {
    const node = id === null || id === undefined ? undefined : this.recording.nodes[id];
    return node ? printable(node.name) : absent;
  }

  topic(id: number | null | undefined): string {
    const topic = id === null || id === undefined ? undefined : this.recording.topics[id];
    return topic ? printable(topic.name) : absent;
  }

  callback(id: number): string {
    const callback = this.recording.callbacks[id];
    return callback ? printable(callback.name) : "callback of no known name";
  }

  /** What starts the callback: "subscription /points", "timer 10.00 ms". */
  cause(callback: Callback | undefined): string {
    if (!callback) return "unknown";
    if (callback.kind === "timer" && callback.period !== null) return `timer ${duration(callback.period)}`;
    const kind = callback.kind === null ? "unknown kind" : printable(callback.kind);
    return callback.topic === null ? kind : `${kind} ${this.topic(callback.topic)}`;
  }

  process(id: number | null | undefined): string {
    const process = id === null || id === undefined ? undefined : this.recording.processes[id];
    if (!process) return absent;
    const host = new Set(this.recording.processes.map((other) => other.host)).size > 1 && process.host ? `${printable(process.host)} ` : "";
    return `${host}${printable(process.name ?? "process")} ${process.pid}`;
  }

  thread(id: number | null | undefined): string {
    const thread = id === null || id === undefined ? undefined : this.recording.threads[id];
    if (!thread) return absent;
    return thread.name ? `${printable(thread.name)} ${thread.tid}` : `thread ${thread.tid}`;
  }

  nodeColor(id: number | null | undefined): Color {
    const node = id === null || id === undefined ? undefined : this.recording.nodes[id];
    return (node && this.colors.get(node.name)) ?? unknownColor;
  }

  callbackColor(id: number): Color {
    return this.nodeColor(this.recording.callbacks[id]?.node);
  }
}
