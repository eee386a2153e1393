// Where nodes and edges of the graph lie: from the left, which publishes, to the right, which receives.

import * as dagre from "@dagrejs/dagre";

export interface BoxIn { id: number; width: number; height: number }
export interface EdgeIn { id: number; from: number; to: number; width: number; height: number }
export interface Box { x: number; y: number; width: number; height: number }
export interface Line { points: { x: number; y: number }[]; label: Box }
export interface Layout { boxes: Map<number, Box>; lines: Map<number, Line>; width: number; height: number }

const gap = 14;

export function layOutGraph(boxes: BoxIn[], edges: EdgeIn[], aspect: number): Layout {
  const touched = new Set(edges.flatMap(({ from, to }) => [from, to]));
  const alone = boxes.filter(({ id }) => !touched.has(id));
  const graph = new dagre.graphlib.Graph({ multigraph: true, directed: true });
  graph.setGraph({ rankdir: "LR", nodesep: 22, edgesep: 14, ranksep: 16, marginx: 8, marginy: 8 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes) if (touched.has(box.id)) graph.setNode(String(box.id), { width: box.width, height: box.height });
  for (const edge of edges) graph.setEdge(String(edge.from), String(edge.to), { width: edge.width, height: edge.height, labelpos: "c" }, String(edge.id));

  const layout: Layout = { boxes: new Map(), lines: new Map(), width: 0, height: 0 };
  if (edges.length > 0) {
    dagre.layout(graph);
    for (const id of graph.nodes()) layout.boxes.set(Number(id), graph.node(id) as Box);
    for (const edge of graph.edges()) {
      const { points, x, y, width, height } = graph.edge(edge) as unknown as Box & { points: { x: number; y: number }[] };
      layout.lines.set(Number(edge.name), { points, label: { x, y, width, height } });
    }
    const size = graph.graph() as { width: number; height: number };
    layout.width = size.width;
    layout.height = size.height;
  }
  pack(alone, layout, aspect);
  return layout;
}

/** Puts boxes without edges in rows below. */
function pack(boxes: BoxIn[], layout: Layout, aspect: number): void {
  if (boxes.length === 0) return;
  const area = boxes.reduce((sum, { width, height }) => sum + (width + gap) * (height + gap), 0);
  const across = Math.max(layout.width, Math.sqrt(area * aspect), ...boxes.map(({ width }) => width + 2 * gap));
  let x = gap;
  let y = layout.height + gap;
  let tall = 0;
  for (const { id, width, height } of boxes) {
    if (x + width + gap > across && x > gap) {
      x = gap;
      y += tall + gap;
      tall = 0;
    }
    layout.boxes.set(id, { x: x + width / 2, y: y + height / 2, width, height });
    x += width + gap;
    tall = Math.max(tall, height);
    layout.width = Math.max(layout.width, x);
  }
  layout.height = y + tall + gap;
}

/** The path of SVG through the points: straight, with rounded corners. */
export function curve(points: { x: number; y: number }[]): string {
  const at = ({ x, y }: { x: number; y: number }) => `${x.toFixed(1)},${y.toFixed(1)}`;
  const [first, ...rest] = points;
  if (!first) return "";
  let path = `M${at(first)}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const [here, next] = [rest[i]!, rest[i + 1]!];
    path += `Q${at(here)} ${at({ x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 })}`;
  }
  const end = rest.at(-1);
  return end ? `${path}L${at(end)}` : path;
}
