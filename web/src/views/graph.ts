// The graph by itself, with the details of what is selected and the same as a table.

import type { App, View } from "../app";
import { button, h, type Child } from "../dom";
import { failure } from "../failure";
import { count, duration, exactDuration, several } from "../format";
import { chosen, drawGraph, type DrawnGraph } from "../graph";
import { graphAnswers } from "../graphanswers";
import type { Edge, Graph, Rows } from "../model";
import { printable } from "../printable";
import { address, besides, changeAddress } from "../router";
import { table } from "../table";
import { warningsOf } from "../warnings";
import { section } from "./page";

export const graphView: View = async (app, element, parameters, signal) => {
  const selected = parameters.get("select");
  const [kind, number] = selected?.split(".") ?? [];
  const id = Number(number);
  let standard = parameters.get("standard") === "1";
  let near = parameters.get("near") === "1";
  let drawn: DrawnGraph | null = null;
  let graph: Graph | null = null;
  let measured = false;

  const picture = h("div", { class: "picture" });
  const side = h("div", { class: "side" });
  const said = h("span", { class: "quiet" });
  const below = h("div");
  const withStandard = h("input", { type: "checkbox", checked: standard });
  const onlyNear = h("input", { type: "checkbox", disabled: !selected });
  element.append(
    h("div", { class: "toolbar" },
      button("−", () => drawn?.panZoom.zoom(1.4), { "aria-label": "zoom out", title: "zoom out (-)" }),
      button("+", () => drawn?.panZoom.zoom(0.7), { "aria-label": "zoom in", title: "zoom in (+)" }),
      button("all", () => drawn?.panZoom.fit(), { title: "show everything (f)" }),
      h("label", {}, withStandard, " what every node has"),
      h("label", { title: "at most two edges away; select something first" }, onlyNear, " only near what is selected"), said),
    h("div", { class: "graph-view" }, picture, side), below);

  /** The node that what is selected is, or begins at. */
  function middle(): number | null {
    if (kind === "node") return app.recording.nodes[id] ? id : null;
    const edge = kind === "edge" ? graph?.edges[id] : graph?.edges.find(({ topic }) => kind === "topic" && topic === id);
    return edge?.from ?? edge?.to ?? null;
  }

  function show(): void {
    const all = { standard, selected, around: null };
    const around = { ...all, around: middle() };
    let what = near ? null : chosen(app, graph, all);
    const isNear = what === null && around.around !== null;
    if (isNear) what = chosen(app, graph, around);
    onlyNear.checked = isNear;
    const options = isNear ? around : all;
    if (!what) {
      picture.replaceChildren(h("p", { class: "quiet" }, `${several(app.recording.nodes.length, "node")} and ${several(graph?.edges.length ?? 0, "edge")}: too many for one picture. Search for a node (press /), and see what is near it.`));
      return;
    }
    drawn = drawGraph(app, graph, what, options);
    picture.replaceChildren(drawn.svg);
    drawn.look();
    const shown = graph ? `${several(what.nodes.length, "node")}, ${several(what.edges.length, "edge")} of ${count(graph.edges.length)}` : "";
    said.textContent = measured ? `${shown}: messages a second · 99th percentile of the latency` : `${shown} messages are being read…`;
  }
  withStandard.addEventListener("change", () => {
    standard = withStandard.checked;
    changeAddress({ standard: standard ? 1 : null });
    show();
  });
  onlyNear.addEventListener("change", () => {
    near = onlyNear.checked;
    changeAddress({ near: near ? 1 : null });
    show();
  });

  show();
  try {
    await graphAnswers(app.source, (answer, isMeasured) => {
      if (signal.aborted) return;
      graph = answer;
      measured = isMeasured;
      show();
    });
  } catch (error) {
    below.replaceChildren(failure(error));
    return;
  }
  if (signal.aborted || !graph) return;
  const known: Graph = graph;
  if (kind === "edge" && known.edges[id]) side.append(edgeDetails(app, known.edges[id]));
  if (kind === "node" && app.recording.nodes[id]) side.append(nodeDetails(app, known, id));
  if (kind === "topic" && app.recording.topics[id]) side.append(topicDetails(app, known, id));
  show(); // beside the details the picture is narrower
  below.append(...warningsOf(known), section("All edges", edgeTable(app, known, kind === "edge" ? id : null)));
};

const edgeColumns = ["topic", "from", "to", "transport", "count", "rate", "min", "mean", "p50", "p99", "max", "lost", "open", "unknown"] as const;

function edgeTable({ names }: App, graph: Graph, selected: number | null): HTMLElement {
  const rows = graph.edges.map((edge) => edgeColumns.map((column) => {
    if (column === "topic") return names.recording.topics[edge.topic]?.name ?? null;
    if (column === "from" || column === "to") return edge[column] === null ? null : names.recording.nodes[edge[column]]?.name ?? null;
    if (column === "transport") return edge.transport?.join(", ") ?? null;
    return edge[column];
  }));
  const answer: Rows = { columns: [...edgeColumns], rows };
  return table(answer, { name: "edges", caption: "messages from node to node", link: (row) => besides("graph", { select: `edge.${row}` }), selected, details: (column) => ["min", "open", "unknown"].includes(column), nothing: "No messages between recorded nodes are known." });
}

function panel(title: string, ...children: Child[]): HTMLElement {
  return h("section", { class: "details" }, h("header", {}, h("h2", {}, title), h("a", { href: "#graph", class: "close", "aria-label": "close" }, "×")), ...children);
}

function nodeLink({ names }: App, id: number | null): Child {
  return id === null ? "unknown" : h("a", { href: address("graph", { select: `node.${id}` }) }, names.node(id));
}

function edgeDetails(app: App, edge: Edge): HTMLElement {
  const list = h("dl");
  const say = (term: string, ...description: Child[]) => list.append(h("dt", {}, term), h("dd", {}, ...description));
  const type = app.recording.topics[edge.topic]?.type;
  say("from", nodeLink(app, edge.from));
  say("to", nodeLink(app, edge.to));
  if (type) say("type", printable(type));
  say("transport", edge.transport?.map(printable).join(", ") || "unknown");
  say("messages", edge.count === null ? "unknown" : count(edge.count));
  say("rate", edge.rate === null ? "unknown" : `${edge.rate.toFixed(2)}/s`);
  for (const name of ["min", "mean", "p50", "p99", "max"] as const) {
    const value = edge[name];
    say(name, h("span", { title: value === null ? null : exactDuration(value) }, value === null ? "unknown" : duration(value)));
  }
  for (const name of ["lost", "open", "unknown"] as const) say(name, edge[name] === null ? "unknown" : count(edge[name]));
  return panel(app.names.topic(edge.topic), list,
    h("p", { class: "links" }, edge.communication === null ? null : h("a", { href: address("communications", { select: edge.communication }) }, "histogram and values over time")));
}

function nodeDetails(app: App, graph: Graph, id: number): HTMLElement {
  const { names, recording } = app;
  const own = recording.callbacks.filter((callback) => callback.node === id && !callback.standard);
  const edges = (of: (edge: Edge) => boolean) => {
    const items = graph.edges.flatMap((edge, i) => of(edge)
      ? [h("li", {}, h("a", { href: address("graph", { select: `edge.${i}` }) }, names.topic(edge.topic)), ` ${edge.from === id ? "to" : "from"} ${names.node(edge.from === id ? edge.to : edge.from)}`)]
      : []);
    return items.length > 0 ? h("ul", {}, ...items) : h("p", { class: "quiet" }, "nothing, as far as is known");
  };
  return panel(names.node(id),
    h("p", { class: "quiet" }, names.process(recording.nodes[id]?.process)),
    h("h3", {}, "callbacks"), h("ul", {}, ...own.map((callback) => h("li", {}, h("a", { href: address("callbacks", { select: callback.id }) }, names.cause(callback)), callback.symbol ? h("div", { class: "quiet" }, printable(callback.symbol)) : null))),
    h("h3", {}, "receives"), edges((edge) => edge.to === id),
    h("h3", {}, "sends"), edges((edge) => edge.from === id));
}

function topicDetails(app: App, graph: Graph, id: number): HTMLElement {
  const { names, recording } = app;
  const type = recording.topics[id]?.type;
  return panel(names.topic(id), type ? h("p", { class: "quiet" }, printable(type)) : null,
    h("h3", {}, "messages"),
    h("ul", {}, ...graph.edges.flatMap((edge, i) => edge.topic === id ? [h("li", {}, h("a", { href: address("graph", { select: `edge.${i}` }) }, `${names.node(edge.from)} → ${names.node(edge.to)}`))] : [])),
    h("h3", {}, "callbacks"),
    h("ul", {}, ...recording.callbacks.filter((callback) => callback.topic === id).map((callback) => h("li", {}, h("a", { href: address("callbacks", { select: callback.id }) }, names.callback(callback.id))))));
}
