// Draws one frame of the timeline on a canvas. It only reads what it is given.

import { time } from "../format";
import type { Loss, OffCpu } from "../model";
import type { Names } from "../names";
import { tickStep, ticks } from "../ticks";
import { Batch } from "./batch";
import type { Densities } from "./density";
import { tileBegin, tileEnd } from "./grid";
import { barTop, groupHeight, type Lane, type Lanes } from "./lanes";
import type { Residents } from "./residents";
import type { Selection } from "./selection";
import type { Found } from "./store";
import type { Coarse, Exact } from "./tile";
import type { Viewport } from "./viewport";

export interface Colors {
  background: string;
  lane: string;
  text: string;
  quiet: string;
  line: string;
  lost: string;
  accent: string;
  message: string;
  preempted: string;
  blocked: string;
  woken: string;
}

export interface Scene {
  view: Viewport;
  lanes: Lanes;
  /** How far the lanes are scrolled up, in pixels. */
  scroll: number;
  width: number;
  height: number;
  /** Pixels that the names of threads take on the left. */
  gutter: number;
  duration: number;
  found: Found[];
  offCpu: OffCpu[];
  losses: Loss[];
  names: Names;
  densities: Densities;
  residents: Residents;
  selection: Selection | null;
  hovered: Selection | null;
  showMessages: boolean;
  colors: Colors;
  lostPattern: CanvasPattern;
  /** For lanes of which a tile says nothing. */
  unknownPattern: CanvasPattern;
}

export interface Drawn { callbacks: number; publishes: number; messages: number; exact: boolean }

export const axisHeight = 24;
const font = "12px system-ui, sans-serif";

export function draw(pen: CanvasRenderingContext2D, scene: Scene): Drawn {
  const { width, height, gutter, colors } = scene;
  pen.fillStyle = colors.background;
  pen.fillRect(0, 0, width, height);
  pen.font = font;
  pen.textBaseline = "middle";
  const drawn: Drawn = { callbacks: 0, publishes: 0, messages: 0, exact: scene.found.length > 0 && scene.found.every((found) => found.tile.exact) };

  pen.save();
  pen.beginPath();
  pen.rect(0, axisHeight, width, height - axisHeight);
  pen.clip();
  const visible = scene.lanes.lanes.filter((lane) => y(scene, lane) < height && y(scene, lane) + lane.height > axisHeight);
  drawGroups(pen, scene);
  pen.fillStyle = colors.lane;
  for (const lane of visible) pen.fillRect(gutter, y(scene, lane) + barTop, width - gutter, scene.lanes.bar);

  pen.save();
  pen.beginPath();
  pen.rect(gutter, axisHeight, width - gutter, height - axisHeight);
  pen.clip();
  pen.translate(gutter, 0);
  drawGrid(pen, scene);
  let before: Found | null = null;
  for (const found of scene.found) {
    if (found.tile.exact) drawExact(pen, scene, found.tile, found, before, visible, drawn);
    else drawCoarse(pen, scene, found.tile, found, visible);
    before = found;
  }
  drawOffCpu(pen, scene);
  drawLosses(pen, scene, visible);
  before = null;
  for (const found of scene.found) {
    if (found.tile.exact) {
      drawPublishes(pen, scene, found.tile, found, drawn);
      drawMessages(pen, scene, found.tile, found, before, drawn);
    }
    before = found;
  }
  drawChosen(pen, scene);
  pen.restore();

  drawNames(pen, scene, visible);
  pen.restore();
  drawAxis(pen, scene);
  return drawn;
}

/** Whether what began before a tile is drawn by the one before. */
function isShownBefore(found: Found, before: Found | null): boolean {
  return before?.tile.exact === true && before.to === found.from;
}

function y(scene: Scene, lane: { top: number }): number {
  return axisHeight + lane.top - scene.scroll;
}

function drawGroups(pen: CanvasRenderingContext2D, scene: Scene): void {
  for (const group of scene.lanes.groups) {
    const top = y(scene, group);
    if (top > scene.height || top + group.height < axisHeight) continue;
    pen.strokeStyle = scene.colors.line;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(0, Math.round(top) + 0.5);
    pen.lineTo(scene.width, Math.round(top) + 0.5);
    pen.stroke();
    pen.fillStyle = scene.colors.text;
    pen.font = `600 ${font}`;
    pen.fillText(shortened(pen, group.name, scene.width - 16), 8, top + groupHeight / 2 + 1);
    pen.font = font;
  }
}

/** The height of lanes from which on there is room for two lines. */
const twoLines = 28;

function drawNames(pen: CanvasRenderingContext2D, scene: Scene, lanes: Lane[]): void {
  for (const lane of lanes) {
    const nodes = scene.lanes.bar < twoLines ? [] : scene.residents.of(lane.thread);
    const middle = y(scene, lane) + barTop + scene.lanes.bar / 2;
    pen.fillStyle = scene.colors.quiet;
    pen.fillText(shortened(pen, lane.name, scene.gutter - 24), 16, nodes.length > 0 ? middle - 8 : middle);
    drawNodes(pen, scene, nodes, middle + 8);
  }
}

/** The nodes of a thread side by side, with their colors, and how many there is no room for. */
function drawNodes(pen: CanvasRenderingContext2D, scene: Scene, nodes: number[], middle: number): void {
  const end = scene.gutter - 6;
  let x = 16;
  for (const [i, node] of nodes.entries()) {
    const left = nodes.length - i;
    const more = left > 1 ? widthOf(pen, `+${left}`) + 4 : 0;
    const name = shortened(pen, scene.names.node(node), end - x - 12 - more);
    if (name === "" || (i > 0 && name !== scene.names.node(node))) {
      pen.fillStyle = scene.colors.quiet;
      pen.fillText(`+${left}`, x, middle);
      return;
    }
    pen.fillStyle = scene.names.nodeColor(node).fill;
    pen.fillRect(x, middle - 5, 8, 8);
    pen.fillStyle = scene.colors.text;
    pen.fillText(name, x + 12, middle);
    x += 12 + widthOf(pen, name) + 8;
  }
}

function axisTicks(scene: Scene): { step: number; at: number[] } {
  const step = tickStep(scene.view.span, (scene.width - scene.gutter) / 110);
  return { step, at: ticks(scene.view.from, scene.view.to, step) };
}

function drawGrid(pen: CanvasRenderingContext2D, scene: Scene): void {
  pen.strokeStyle = scene.colors.line;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const at of axisTicks(scene).at) {
    const x = Math.round(scene.view.x(at)) + 0.5;
    pen.moveTo(x, axisHeight);
    pen.lineTo(x, scene.height);
  }
  pen.stroke();
}

function drawAxis(pen: CanvasRenderingContext2D, scene: Scene): void {
  const { gutter, width, colors, view } = scene;
  pen.fillStyle = colors.background;
  pen.fillRect(0, 0, width, axisHeight);
  const { step, at } = axisTicks(scene);
  pen.save();
  pen.beginPath();
  pen.rect(gutter, 0, width - gutter, axisHeight);
  pen.clip();
  pen.fillStyle = colors.quiet;
  pen.strokeStyle = colors.quiet;
  pen.beginPath();
  for (const tick of at) {
    const x = Math.round(gutter + view.x(tick)) + 0.5;
    pen.moveTo(x, axisHeight - 5);
    pen.lineTo(x, axisHeight);
    pen.fillText(time(tick, step), x + 4, axisHeight / 2);
  }
  pen.stroke();
  pen.restore();
  pen.fillStyle = colors.quiet;
  pen.fillText("since the begin", 8, axisHeight / 2);
}

function drawExact(pen: CanvasRenderingContext2D, scene: Scene, tile: Exact, found: Found, before: Found | null, lanes: Lane[], drawn: Drawn): void {
  const { view, names } = scene;
  const from = Math.max(view.from, found.from);
  const to = Math.min(view.to, found.to);
  const shownBefore = isShownBefore(found, before); // then what began before is drawn and counted already
  const laneOf = new Set(lanes.map((lane) => lane.thread));
  const outer = new Batch();
  const nested = new Batch();
  const labels: { text: string; color: string; x: number; y: number }[] = [];
  const marked: [number, number, number, number][] = [];
  for (const [thread, places] of tile.byThread) {
    const lane = scene.lanes.byThread.get(thread);
    const inSight = lane !== undefined && laneOf.has(thread);
    let lastX = -1;
    let lastDepth = -1;
    for (const i of places) {
      const begin = tile.begin[i]!;
      const end = tile.end[i]!;
      const ran = Number.isNaN(end) ? tile.until[i]! : end;
      if (begin > to || (Number.isNaN(ran) ? begin : ran) < from || (shownBefore && begin < found.from)) continue;
      drawn.callbacks++;
      if (!inSight) continue;
      const depth = tile.depth[i]!;
      const [x0, x1] = extent(scene, tile, i);
      const left = Math.round(Math.max(-2, x0));
      const right = Math.round(Math.min(view.width + 2, x1));
      const wide = Math.max(1, right - left);
      if (wide === 1 && left === lastX && depth === lastDepth) continue; // this pixel is drawn already
      lastX = left;
      lastDepth = depth;
      const inset = insetOf(scene, depth);
      const top = Math.round(y(scene, lane)) + barTop + inset;
      const height = scene.lanes.bar - inset;
      const color = names.callbackColor(tile.callback[i]!);
      const batch = depth > 0 ? nested : outer;
      if (depth > 0 && wide > 3) batch.add(scene.colors.background, left, top - 1, wide, 1);
      batch.add(color.fill, left, top, wide > 4 ? wide - 1 : wide, height);
      if (tile.status[i]) marked.push([left, right, top, height]);
      if (wide > 30) {
        const shown = Math.max(0, left);
        const text = labelFor(pen, names, tile.callback[i]!, Math.min(right, view.width) - shown - 8);
        labels.push({ text, color: color.text, x: shown + 4, y: depth > 0 || height < 24 ? top + height / 2 + 0.5 : top + 9 });
      }
    }
  }
  outer.fill(pen);
  nested.fill(pen);
  for (const [left, right, top, height] of marked) drawUnfinished(pen, scene, left, right, top, height);
  for (const { text, color, x, y: at } of labels) {
    pen.fillStyle = color;
    pen.fillText(text, x, at);
  }
}

/**
 * From where to where an execution is drawn. If its begin or end is not known, that is a stub, or up to where it is
 * known to have run.
 */
function extent({ view }: Scene, tile: Exact, i: number): [number, number] {
  const begin = view.x(tile.begin[i]!);
  const end = tile.end[i]!;
  if (tile.status[i] === "start_missing") return [begin - 14, begin];
  if (!Number.isNaN(end)) return [begin, view.x(end)];
  const until = tile.until[i]!;
  return [begin, Number.isNaN(until) ? begin + 14 : Math.max(begin + 8, view.x(until))];
}

/** How much lower nested callbacks begin. */
function insetOf(scene: Scene, depth: number): number {
  return Math.min(3, depth) * Math.floor(scene.lanes.bar / 4);
}

/** The callback's name, or that of its node, as there is room. */
function labelFor(pen: CanvasRenderingContext2D, names: Names, callback: number, room: number): string {
  const whole = names.callback(callback);
  if (widthOf(pen, whole) <= room) return whole;
  const node = names.recording.callbacks[callback]?.node ?? null;
  return shortened(pen, node === null ? whole : names.node(node), room);
}

/** Marks what did not begin and end as it should within the recording. */
function drawUnfinished(pen: CanvasRenderingContext2D, scene: Scene, left: number, right: number, top: number, height: number): void {
  pen.save();
  pen.strokeStyle = scene.colors.lost;
  pen.lineWidth = 2;
  pen.setLineDash([3, 3]);
  pen.strokeRect(left + 1, top + 1, Math.max(2, right - left - 2), height - 2);
  pen.restore();
}

function drawCoarse(pen: CanvasRenderingContext2D, scene: Scene, tile: Coarse, found: Found, lanes: Lane[]): void {
  const { view, duration, densities } = scene;
  const height = scene.lanes.bar;
  const key = `${found.address.level}/${found.address.index}`;
  const begin = tileBegin(duration, found.address);
  const bin = (tileEnd(duration, found.address) - begin) / tile.bins;
  const from = Math.max(view.from, found.from);
  const to = Math.min(view.to, found.to);
  const left = view.x(from);
  const right = view.x(to);
  if (right <= left) return;
  pen.imageSmoothingEnabled = false;
  for (const lane of lanes) {
    const top = Math.round(y(scene, lane)) + barTop;
    const strip = densities.of(key, tile, lane.thread, height);
    if (strip) {
      pen.drawImage(strip, (from - begin) / bin, 0, (to - from) / bin, height, left, top, right - left, height);
    } else if (tile.omitted > 0) {
      pen.fillStyle = scene.unknownPattern;
      pen.fillRect(left, top, right - left, height);
    }
  }
}

/** The height of the line below callbacks that says when the thread was off the CPU. */
const offCpuHeight = 4;

function drawOffCpu(pen: CanvasRenderingContext2D, scene: Scene): void {
  const { view, colors } = scene;
  for (const times of scene.offCpu) {
    times.thread.forEach((thread, i) => {
      const lane = scene.lanes.byThread.get(thread);
      const from = times.from[i]!;
      const to = times.to[i]!;
      if (!lane || to < view.from || from > view.to) return;
      const left = Math.max(0, view.x(from));
      pen.fillStyle = colors[times.kind[i]!];
      pen.fillRect(left, y(scene, lane) + barTop + scene.lanes.bar + 1, Math.max(1, Math.min(view.width, view.x(to)) - left), offCpuHeight);
    });
  }
}

/** The time off the CPU that is drawn at a place: where it is among those of the scene. */
export function pickOffCpu(scene: Scene, x: number, at: number): { times: OffCpu; i: number } | null {
  const lane = scene.lanes.lanes.find((one) => at >= y(scene, one) + barTop + scene.lanes.bar && at < y(scene, one) + one.height);
  if (!lane || x < scene.gutter || at < axisHeight) return null;
  const [from, to] = [scene.view.time(x - scene.gutter - 1), scene.view.time(x - scene.gutter + 1)];
  for (const times of scene.offCpu) {
    const i = times.thread.findIndex((thread, k) => thread === lane.thread && times.from[k]! <= to && times.to[k]! >= from);
    if (i >= 0) return { times, i };
  }
  return null;
}

/** Hatches what may lack something: all lanes, those of a process, or only the lines below them. */
function drawLosses(pen: CanvasRenderingContext2D, scene: Scene, lanes: Lane[]): void {
  const { view, colors, height } = scene;
  const processOf = (lane: Lane) => scene.names.recording.threads[lane.thread]?.process;
  for (const loss of scene.losses) {
    const end = loss.end ?? loss.begin;
    if (end < view.from || loss.begin > view.to) continue;
    const left = Math.max(-4, view.x(loss.begin));
    const right = Math.min(view.width + 4, view.x(end));
    const of = loss.process === null ? null : lanes.filter((lane) => processOf(lane) === loss.process);
    const spans = loss.offCpu ? (of ?? lanes).map((lane) => [y(scene, lane) + barTop + scene.lanes.bar + 1, offCpuHeight + 1] as const)
      : of ? of.map((lane) => [y(scene, lane), lane.height] as const) : [[axisHeight, height - axisHeight] as const];
    for (const [top, tall] of spans) {
      pen.fillStyle = scene.lostPattern;
      if (right - left > 1) pen.fillRect(left, top, right - left, tall);
      pen.fillStyle = colors.lost;
      pen.fillRect(Math.round(left), top, 2, tall);
      if (loss.end !== null && right - left > 4) pen.fillRect(Math.round(right) - 2, top, 2, tall);
    }
  }
}

function drawPublishes(pen: CanvasRenderingContext2D, scene: Scene, tile: Exact, found: Found, drawn: Drawn): void {
  const { view, duration } = scene;
  const from = Math.max(view.from, found.from);
  const to = Math.min(view.to, found.to);
  const last = to === duration;
  pen.fillStyle = scene.colors.text;
  const lastX = new Map<number, number>();
  for (let i = 0; i < tile.publishes.t.length; i++) {
    const t = tile.publishes.t[i]!;
    if (t < from || (last ? t > to : t >= to)) continue;
    drawn.publishes++;
    const thread = tile.publishes.thread[i]!;
    const lane = scene.lanes.byThread.get(thread);
    const x = Math.round(view.x(t));
    if (!lane || lastX.get(thread) === x) continue;
    lastX.set(thread, x);
    const top = y(scene, lane);
    pen.fillRect(x - 1, top, 2, barTop + 5);
  }
}

function drawMessages(pen: CanvasRenderingContext2D, scene: Scene, tile: Exact, found: Found, before: Found | null, drawn: Drawn): void {
  const { view, selection, hovered } = scene;
  const { fromThread, fromTime, toThread, toTime } = tile.messages;
  const shownBefore = isShownBefore(found, before);
  const paths = [new Path2D(), new Path2D()];
  for (let i = 0; i < toTime.length; i++) {
    const [t0, t1] = [fromTime[i]!, toTime[i]!];
    if (t1 < view.from || t0 > view.to || (shownBefore && t0 < found.from)) continue;
    if (Math.max(t0, found.from) > Math.min(t1, found.to)) continue;
    drawn.messages++;
    const starts = (s: Selection | null) => s !== null && s.thread === toThread[i] && s.begin === t1;
    const strong = starts(selection) || starts(hovered);
    if (!scene.showMessages && !strong) continue;
    const from = scene.lanes.byThread.get(fromThread[i]!);
    const to = scene.lanes.byThread.get(toThread[i]!);
    if (!from || !to) continue;
    const [x0, x1] = [view.x(t0), view.x(t1)];
    const y0 = y(scene, from) + barTop;
    const y1 = y(scene, to) + (from.top > to.top ? barTop + scene.lanes.bar : barTop);
    arrow(paths[strong ? 1 : 0]!, x0, y0, x1, y1);
  }
  pen.strokeStyle = scene.colors.message;
  pen.lineWidth = 1;
  pen.stroke(paths[0]!);
  pen.strokeStyle = scene.colors.accent;
  pen.lineWidth = 2;
  pen.stroke(paths[1]!);
}

function arrow(path: Path2D, x0: number, y0: number, x1: number, y1: number): void {
  const length = Math.hypot(x1 - x0, y1 - y0);
  path.moveTo(x0, y0);
  path.lineTo(x1, y1);
  if (length < 10) return;
  const [dx, dy] = [(x1 - x0) / length * 6, (y1 - y0) / length * 6];
  path.moveTo(x1 - dx - dy * 0.5, y1 - dy + dx * 0.5);
  path.lineTo(x1, y1);
  path.lineTo(x1 - dx + dy * 0.5, y1 - dy - dx * 0.5);
}

function drawChosen(pen: CanvasRenderingContext2D, scene: Scene): void {
  for (const [chosen, color, wide] of [[scene.hovered, scene.colors.text, 1], [scene.selection, scene.colors.accent, 3]] as const) {
    if (!chosen) continue;
    const box = boxOf(scene, chosen);
    if (!box) continue;
    pen.strokeStyle = color;
    pen.lineWidth = wide;
    pen.strokeRect(box.left - wide / 2, box.top - wide / 2, box.width + wide, box.height + wide);
  }
}

function boxOf(scene: Scene, chosen: Selection): { left: number; top: number; width: number; height: number } | null {
  const lane = scene.lanes.byThread.get(chosen.thread);
  if (!lane) return null;
  for (const { tile } of scene.found) {
    if (!tile.exact) continue;
    for (const i of tile.byThread.get(chosen.thread) ?? []) {
      if (tile.begin[i] !== chosen.begin || tile.depth[i] !== chosen.depth) continue;
      const [x0, x1] = extent(scene, tile, i);
      const [left, right] = [Math.max(-4, x0), Math.min(scene.view.width + 4, x1)];
      const inset = insetOf(scene, chosen.depth);
      return { left, top: y(scene, lane) + barTop + inset, width: Math.max(2, right - left), height: scene.lanes.bar - inset };
    }
  }
  return null;
}

/** The execution at a place of the canvas, the innermost one. */
export function pick(scene: Scene, x: number, atY: number): Selection | null {
  if (x < scene.gutter || atY < axisHeight) return null;
  const lane = scene.lanes.lanes.find((candidate) => atY >= y(scene, candidate) && atY < y(scene, candidate) + candidate.height);
  if (!lane) return null;
  const at = x - scene.gutter;
  let best: Selection | null = null;
  let nearest = 4; // pixels that a pointer may miss a narrow one by
  for (const { tile } of scene.found) {
    if (!tile.exact) continue;
    for (const i of tile.byThread.get(lane.thread) ?? []) {
      const [left, right] = extent(scene, tile, i);
      const misses = at < left ? left - at : at > right ? at - right : 0;
      if (misses < nearest || (misses === nearest && best !== null && tile.depth[i]! > best.depth)) {
        nearest = misses;
        best = { thread: lane.thread, begin: tile.begin[i]!, depth: tile.depth[i]! };
      }
    }
  }
  return best;
}

const widths = new Map<string, number>();

function widthOf(pen: CanvasRenderingContext2D, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    width = pen.measureText(text).width;
    widths.set(text, width);
  }
  return width;
}

/** The text, shortened in the middle to so many pixels. Nothing, if that leaves nothing to read. */
function shortened(pen: CanvasRenderingContext2D, text: string, room: number): string {
  const width = widthOf(pen, text);
  if (width <= room) return text;
  for (let kept = Math.min(text.length - 1, Math.floor(text.length * room / width)); kept >= 5; kept--) {
    const front = Math.ceil(kept / 2);
    const candidate = `${text.slice(0, front)}…${text.slice(text.length - (kept - front))}`;
    if (widthOf(pen, candidate) <= room) return candidate;
  }
  return "";
}
