// The first picture: the graph, what was recorded, what was lost, and what was slowest.

import type { App, View } from "../app";
import { h, type Child } from "../dom";
import { failure, fillWith } from "../failure";
import { absent, count, dateTime, duration, several } from "../format";
import { chosen, drawGraph } from "../graph";
import { graphAnswers } from "../graphanswers";
import { lostSummary } from "../lost";
import type { CallbackRows, Dataset, Graph, Rows } from "../model";
import { printable } from "../printable";
import { address } from "../router";
import { table } from "../table";
import { warningsOf } from "../warnings";
import { section } from "./page";

export const overviewView: View = async (app, element, _, signal) => {
  const { source, recording: { warnings } } = app;
  const picture = h("div", { class: "overview-graph" });
  const callbacks = h("div");
  const communications = h("div");
  element.append(
    h("div", { class: "overview-top" }, recorded(app),
      lostSummary(app, h("a", { href: "#losses" }, `losses and ${several(warnings.length, "warning")}`))),
    h("section", {}, h("h2", {}, h("a", { href: "#graph" }, "Nodes and topics"), h("span", { class: "quiet small" }, " messages a second · 99th percentile of the latency")), picture),
    h("div", { class: "overview-tables" }, section("Slowest callbacks", callbacks), section("Slowest communications", communications)));
  showGraph(app, picture, null);
  const slowest = (answer: Rows): Rows => ({ ...answer, rows: answer.rows.slice(0, 6) });
  await Promise.all([
    graphAnswers(source, (graph) => {
      if (signal.aborted) return;
      showGraph(app, picture, graph);
      picture.before(...warningsOf(graph));
    }).catch((error: unknown) => { if (!signal.aborted) picture.append(failure(error)); }),
    fillWith(callbacks, () => source.get<CallbackRows>("callbacks"), (answer) => table(slowest(answer), {
      name: "slowest-callbacks", caption: "slowest callbacks", nothing: "No callback was recorded.",
      link: (row) => address("callbacks", { select: answer.ids?.[row] ?? null }),
      details: (column) => !["node_name", "kind", "topic_name", "p99", "max"].includes(column),
    }), signal),
    fillWith(communications, () => source.get<Rows>("communications"), (answer) => table(slowest(answer), {
      name: "slowest-communications", caption: "slowest communications", nothing: "No messages between recorded nodes are known.",
      link: (row) => address("communications", { select: row }),
      details: (column) => !["topic_name", "subscription_node_name", "p99", "max", "lost"].includes(column),
    }), signal),
  ]);
};

function showGraph(app: App, place: HTMLElement, graph: Graph | null): void {
  const options = { standard: false, selected: null, around: null };
  const what = chosen(app, graph, options);
  if (!what) {
    place.replaceChildren(h("p", { class: "quiet" }, `${several(app.recording.nodes.length, "node")}: too many for one picture. Search for a node (press /), and see what is around it.`));
    return;
  }
  const drawn = drawGraph(app, graph, what, options);
  place.replaceChildren(drawn.svg);
  drawn.look();
}

function recorded({ recording }: App): HTMLElement {
  const list = h("dl");
  const say = (term: string, ...description: Child[]) => list.append(h("dt", {}, term), h("dd", {}, ...description));
  say(recording.datasets.length === 1 ? "recording" : "recordings", ...recording.datasets.map((dataset) => h("div", {}, printable(dataset.path))));
  say("host", [...new Set(recording.datasets.map((dataset) => printable(dataset.host || "unknown")))].join(", "));
  say("begin", dateTime(recording.begin));
  say("length", duration(recording.duration));
  say(recording.part ? "callbacks in the whole recording" : "callbacks", recording.datasets.some((dataset) => dataset.callbacks === null) ? absent : count(recording.datasets.reduce((sum, dataset) => sum + dataset.callbacks!, 0)));
  say("system", [several(recording.nodes.length, "node"), several(recording.topics.length, "topic"), several(recording.processes.length, "process", "processes")].join(", "));
  for (const [name, value] of sessionFacts(recording.datasets)) say(name, value);
  if (recording.baseline) say("compared with", h("a", { href: "#compare" }, recording.baseline.map((dataset) => printable(dataset.path)).join(", ")));
  return h("section", { class: "recorded", "aria-label": "what was recorded" }, list);
}

/** Targets, profile, command and attributes, as far as a session tells them. */
function sessionFacts(datasets: Dataset[]): [string, string][] {
  const found = new Map<string, Set<string>>();
  for (const { session } of datasets) {
    for (const [name, value] of Object.entries(session ?? {})) {
      const text = plain(value);
      if (!text) continue;
      const values = found.get(name) ?? new Set();
      found.set(name, values.add(text));
    }
  }
  return [...found].map(([name, values]) => [printable(name).replaceAll("_", " "), printable([...values].join("; "))]);
}

function plain(value: unknown): string {
  if (value === null || value === undefined || value === "") return "";
  if (Array.isArray(value)) return value.map(plain).filter(Boolean).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([name, inner]) => `${name}=${plain(inner)}`).join(", ");
  return String(value);
}
