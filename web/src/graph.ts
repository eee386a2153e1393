// The graph of nodes and topics: who sends what to whom, how often, and how long that takes.

import type { App } from "./app";
import { s } from "./dom";
import { absent, count, duration, rate } from "./format";
import { curve, layOutGraph, type Layout } from "./graphlayout";
import type { Edge, Graph } from "./model";
import { panZoom, type PanZoom } from "./panzoom";
import { address } from "./router";

export interface GraphOptions {
  /** Also what every node has: parameter services, /rosout. */
  standard: boolean;
  /** `node.3`, `topic.4` or `edge.5`. */
  selected: string | null;
  /** Only what lies at most two edges from here. */
  around: number | null;
}

export interface DrawnGraph { svg: SVGSVGElement; panZoom: PanZoom; edges: number[]; nodes: number[]; look: () => void }

/** Nodes and edges that a picture has at most: laying out more takes more than a second, and nobody can read it. */
export const mostNodes = 150;
export const mostEdges = 300;

const lineHeight = 15;
let pen: CanvasRenderingContext2D | null = null;

function widthOf(text: string, font: string): number {
  pen ??= document.createElement("canvas").getContext("2d")!;
  pen.font = font;
  return pen.measureText(text).width;
}

/**
 * The lines below the name of an edge, none before it is measured: how often, the 99th percentile of the latency, and
 * what was lost.
 */
export function measured(edge: Edge): string[] {
  if (edge.count === null) return [];
  if (edge.count === 0 && !edge.lost) return ["no message seen"];
  const often = edge.rate !== null && edge.rate >= 99.95 ? `${Math.round(edge.rate)}/s` : rate(edge.rate);
  const lines = [`${often} · ${edge.p99 === null ? absent : duration(edge.p99)}`];
  return edge.lost ? [...lines, `${count(edge.lost)} lost`] : lines;
}

/** What the picture shows, or null if that is too much. Edges of unknown nodes are in the table only. */
export function chosen({ recording }: App, graph: Graph | null, options: GraphOptions): { nodes: number[]; edges: number[] } | null {
  const isShown = (id: number) => options.standard || !recording.nodes[id]?.standard;
  let nodes = recording.nodes.map((node) => node.id).filter(isShown);
  let ends = (graph?.edges ?? []).flatMap(({ from, to }, id) => (from !== null && to !== null && isShown(from) && isShown(to) ? [{ id, from, to }] : []));
  if (options.around !== null) {
    let near = new Set([options.around]);
    for (let hop = 0; hop < 2; hop++) {
      const wider = new Set(near);
      for (const { from, to } of ends) {
        if (near.has(from)) wider.add(to);
        if (near.has(to)) wider.add(from);
      }
      near = wider;
    }
    nodes = nodes.filter((id) => near.has(id));
    ends = ends.filter(({ from, to }) => near.has(from) && near.has(to));
  }
  return nodes.length > mostNodes || ends.length > mostEdges ? null : { nodes, edges: ends.map(({ id }) => id) };
}

export function drawGraph(app: App, graph: Graph | null, what: { nodes: number[]; edges: number[] }, options: GraphOptions): DrawnGraph {
  const { names, recording } = app;
  const text = "12px system-ui, sans-serif";
  const nodes = what.nodes.map((id) => ({ id, name: short(names.node(id)) }));
  const edges = what.edges.map((id) => {
    const edge = graph!.edges[id]!;
    return { id, edge, topic: short(names.topic(edge.topic)), says: measured(edge) };
  });
  const layout = layOutGraph(
    nodes.map(({ id, name }) => ({ id, width: widthOf(name, `600 ${text}`) + 30, height: 32 })),
    edges.map(({ id, edge, topic, says }) => ({ id, from: edge.from!, to: edge.to!, width: Math.max(widthOf(topic, text), ...says.map((line) => widthOf(line, `600 ${text}`))) + 8, height: (1 + says.length) * lineHeight + 4 })),
    2.2);

  const arrow = s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" }, s("path", { d: "M0,0L8,4L0,8z" }));
  const svg = s("svg", { class: "graph", tabindex: 0, role: "group", "aria-label": "Graph of nodes and topics. The table below says the same." }, s("defs", {}, arrow));
  const lines = s("g");
  const boxes = s("g");
  svg.append(lines, boxes);

  const worst = [...edges].map(({ edge }) => edge.p99 ?? 0).sort((a, b) => b - a)[Math.min(2, edges.length - 1)] ?? 0;
  for (const { id, edge, topic, says } of edges) {
    const line = layout.lines.get(id);
    if (!line) continue;
    const isSelected = options.selected === `edge.${id}` || options.selected === `topic.${edge.topic}`;
    const classes = ["edge", isSelected ? "selected" : "", edge.lost ? "lossy" : "", edge.p99 !== null && edge.p99 >= worst && edges.length > 4 ? "slow" : ""].filter(Boolean).join(" ");
    const { label } = line;
    lines.append(s("a", { href: address("graph", { select: `edge.${id}` }), class: classes, "aria-label": `${topic} from ${names.node(edge.from)} to ${names.node(edge.to)}: ${says.join(", ")}` },
      s("title", {}, `${names.topic(edge.topic)}: ${names.node(edge.from)} → ${names.node(edge.to)}`),
      s("path", { d: curve(line.points), "marker-end": "url(#arrow)" }),
      s("rect", { x: label.x - label.width / 2, y: label.y - label.height / 2, width: label.width, height: label.height, rx: 3 }),
      ...[topic, ...says].map((line, i) => s("text", { x: label.x, y: label.y + (i - says.length / 2) * lineHeight, class: ["topic", "measured", "lost"][i] }, line))));
  }
  for (const { id, name } of nodes) {
    const box = layout.boxes.get(id);
    if (!box) continue;
    const standard = recording.nodes[id]?.standard;
    const left = box.x - box.width / 2;
    const top = box.y - box.height / 2;
    boxes.append(s("a", { href: address("graph", { select: `node.${id}` }), class: `node${options.selected === `node.${id}` ? " selected" : ""}${standard ? " standard" : ""}` },
      s("title", {}, `${names.node(id)}, ${names.process(recording.nodes[id]?.process)}`),
      s("rect", { x: left, y: top, width: box.width, height: box.height, rx: 5 }),
      s("rect", { x: left, y: top, width: 7, height: box.height, rx: 3, fill: names.nodeColor(id).fill, class: "stripe" }),
      s("text", { x: box.x + 3, y: box.y + 1 }, name)));
  }
  const moving = panZoom(svg, layout.width, layout.height);
  const at = placeOf(layout, graph, options.selected) ?? { x: 0, y: 0 };
  return { svg, panZoom: moving, edges: what.edges, nodes: what.nodes, look: () => moving.look(at.x, at.y) };
}

/** Where the selected node or edge lies, or the first edge of the selected topic. */
function placeOf(layout: Layout, graph: Graph | null, selected: string | null): { x: number; y: number } | undefined {
  const [kind, number] = selected?.split(".") ?? [];
  const id = Number(number);
  if (kind === "node") return layout.boxes.get(id);
  const edge = kind === "edge" ? id : graph?.edges.findIndex(({ topic }) => kind === "topic" && topic === id);
  return edge === undefined ? undefined : layout.lines.get(edge)?.label;
}

/** Names at most 34 characters long: the middle is left out, as the end tells names apart. */
function short(name: string): string {
  return name.length <= 34 ? name : `${name.slice(0, 12)}…${name.slice(-21)}`;
}
