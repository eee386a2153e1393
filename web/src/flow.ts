// The ways of messages along a path: time to the right, the hops downwards, a line for each message. CARET's message
// flow.

import type { App } from "./app";
import { button, h } from "./dom";
import { fillWith } from "./failure";
import { count, duration, several, time } from "./format";
import { flowKey } from "./keys";
import type { Fate, Flow, Loss, Losses, Path } from "./model";
import { printable } from "./printable";
import { showDuration } from "./plot";
import { color, onThemeChange } from "./theme";
import { tickStep, ticks } from "./ticks";
import { Viewport } from "./timeline/viewport";
import { address } from "./router";
import { lossesLack } from "./views/page";

const gutter = 190;
const axisHeight = 22;
const bandHeight = 42;

export interface FlowPanel { element: HTMLElement; ready: Promise<void>; offer: (windows: Window[]) => void }

/** A part of the time, and why one would look there. */
export interface Window { from: number; to: number; why: string }

export function flowPanel(app: App, path: Path | null, text: string, losses: Losses | null, signal: AbortSignal): FlowPanel {
  const { source, recording } = app;
  const place = h("div");
  const windows = h("div", { class: "toolbar" });
  let scope: AbortController | null = null;

  const ready = show(0, recording.duration);
  const held = path?.text === text ? path.flows : undefined;
  if (held) offer(held);

  function offer(offered: Window[]): void {
    const whole = { from: 0, to: recording.duration, why: "whole recording" };
    const others = offered.filter(({ from, to }) => (from > 0 || to < recording.duration) && source.holds(flowKey(text, from, to)));
    if (others.length > 0) windows.replaceChildren(...[whole, ...others].map(({ from, to, why }) => button(printable(why), () => void show(from, to))));
  }

  function show(from: number, to: number): Promise<void> {
    scope?.abort();
    scope = new AbortController();
    const inner = scope.signal;
    signal.addEventListener("abort", () => scope?.abort(), { signal: inner });
    const key = flowKey(text, from, to);
    return fillWith(place, () => source.get<Flow>(key, inner), (flow) => [
      picture(app, flow, from, to, losses?.rows ?? [], inner, (a, b) => {
        const [begin, end] = [Math.max(0, Math.floor(a)), Math.min(recording.duration, Math.ceil(b))];
        return source.holds(flowKey(text, begin, end)) ? source.get<Flow>(flowKey(text, begin, end), inner) : null;
      }),
    ], inner);
  }
  const lack = lossesLack(losses);
  return { element: h("div", {}, windows, lack ? h("p", { class: "quiet" }, lack) : null, place), ready, offer: (offered) => { if (!held) offer(offered); } };
}

/** Windows around the slowest messages, the slowest first, none within another. */
export function slowestWindows(begins: number[], totals: (number | null)[], duration: number, most = 4): Window[] {
  const found: Window[] = [];
  const order = totals.map((_, i) => i).filter((i) => totals[i] !== null).sort((a, b) => totals[b]! - totals[a]!);
  for (const i of order) {
    if (found.length === most) break;
    const [begin, total] = [begins[i]!, totals[i]!];
    if (found.some(({ from, to }) => begin <= to && begin + total >= from)) continue;
    found.push({ from: Math.max(0, Math.floor(begin - 2 * total)), to: Math.min(duration, Math.ceil(begin + 3 * total)), why: `slowest: ${showDuration(total)}` });
  }
  return found;
}

const fates: Record<Fate, string> = { received: "came to the end", lost: "lost", open: "under way at the end", unknown: "fate unknown", unused: "not used" };

/** How many ways there are, what became of them, and how many of them are drawn. */
export function flowSays(flow: Flow): string {
  const drawn = new Map<Fate, number>();
  for (const { fate } of flow.messages) drawn.set(fate, (drawn.get(fate) ?? 0) + 1);
  const ways = flow.ways ?? flow.messagesTotal;
  const all = flow.fates ?? (flow.shown === ways ? Object.fromEntries(drawn) : null);
  const forked = ways !== flow.messagesTotal ? ` of ${several(flow.messagesTotal, "message")}` : "";
  const parts = (Object.keys(fates) as Fate[]).flatMap((fate) => {
    const part = drawn.get(fate) ?? 0;
    const n = all ? all[fate] ?? 0 : part;
    return n === 0 ? [] : [`${count(n)} ${fates[fate]}${part < n ? ` (${count(part)} drawn)` : ""}`];
  });
  const whole = `${several(ways, "way")}${forked}`;
  return all ? `${whole}: ${parts.join(", ") || "none"}.` : `${whole}. Drawn are ${count(flow.shown)}: ${parts.join(", ")}.`;
}

function picture(app: App, given: Flow, from: number, to: number, losses: Loss[], signal: AbortSignal, finer: (from: number, to: number) => Promise<Flow> | null): HTMLElement {
  let flow = given;
  const stops = flow.columns.length;
  const view = new Viewport(app.recording.duration);
  view.show(from, to);
  const height = axisHeight + Math.max(1, stops - 1) * bandHeight + 16;
  const canvas = h("canvas", { tabindex: 0, role: "img" });
  const stage = h("div", { class: "flow" }, canvas);
  stage.style.height = `${height}px`;
  const tip = h("div", { class: "tip", hidden: true });
  stage.append(tip);
  const said = h("p", { class: "quiet", role: "status" });
  const pen = canvas.getContext("2d")!;
  let frame = 0;
  let hovered = -1;

  function say(): void {
    said.textContent = flowSays(flow);
    canvas.setAttribute("aria-label", `Message flow. ${said.textContent}`);
  }

  function changed(): void {
    if (frame || signal.aborted) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      if (!signal.aborted && view.width > 1) draw();
    });
  }

  let timer = 0;
  function moved(): void {
    changed();
    clearTimeout(timer);
    timer = window.setTimeout(async () => {
      const [a, b] = [view.from, view.to];
      const answer = finer(a, b);
      if (!answer || signal.aborted) return;
      try {
        const next = await answer;
        if (signal.aborted || view.from !== a || view.to !== b) return;
        flow = next;
        hovered = -1;
        say();
        changed();
      } catch {
        // What is shown stays: it is right, only with fewer messages than there might be.
      }
    }, 200);
  }

  const line = (stop: number) => axisHeight + stop * bandHeight + 6;

  function draw(): void {
    const [text, quiet, lost, rule, accent] = ["text", "quiet", "lost", "line", "accent"].map(color) as [string, string, string, string, string];
    const { width } = view;
    pen.clearRect(0, 0, width + gutter, height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.save();
    pen.beginPath();
    pen.rect(gutter, 0, width, height);
    pen.clip();
    pen.translate(gutter, 0);
    pen.fillStyle = color("lost-shade");
    for (const loss of losses) pen.fillRect(view.x(loss.begin), axisHeight, Math.max(2, view.x(loss.end ?? loss.begin) - view.x(loss.begin)), height);
    pen.strokeStyle = rule;
    pen.fillStyle = quiet;
    const step = tickStep(view.span, width / 110);
    pen.beginPath();
    for (const at of ticks(view.from, view.to, step)) {
      const x = Math.round(view.x(at)) + 0.5;
      pen.moveTo(x, axisHeight - 4);
      pen.lineTo(x, height);
      pen.fillText(time(at, step), x + 4, axisHeight / 2 - 2);
    }
    pen.stroke();
    pen.strokeStyle = quiet;
    pen.beginPath();
    for (let stop = 0; stop < stops; stop++) {
      pen.moveTo(0, line(stop) + 0.5);
      pen.lineTo(width, line(stop) + 0.5);
    }
    pen.stroke();
    pen.lineWidth = 1.25;
    const inSight = flow.messages.filter(({ times }) => times.at(-1)! >= view.from && times[0]! <= view.to);
    for (const fate of ["received", "open", "unknown", "unused", "lost"] as const) {
      pen.strokeStyle = fate === "received" ? accent : fate === "lost" ? lost : quiet;
      // Where lines lie on each other, each is so faint that one can see how many there are.
      pen.globalAlpha = fate === "received" ? Math.min(1, Math.max(0.12, 250 / inSight.length)) : 1;
      for (const message of inSight) {
        if (message.fate !== fate) continue;
        const way = new Path2D();
        trace(way, message.times);
        if (fate !== "received") cross(way, view.x(message.times.at(-1)!), line(message.times.length - 1));
        pen.stroke(way);
      }
      pen.globalAlpha = 1;
    }
    const chosen = flow.messages[hovered];
    if (chosen) {
      const way = new Path2D();
      trace(way, chosen.times);
      pen.strokeStyle = text;
      pen.lineWidth = 3;
      pen.stroke(way);
    }
    pen.restore();
    for (let stop = 0; stop < stops; stop++) {
      pen.fillStyle = stop === 0 ? text : quiet;
      const y = stop === 0 ? line(0) - 8 : line(stop) - bandHeight / 2;
      pen.fillText(shortened(printable(flow.columns[stop]!)), 8, y);
    }
  }

  function trace(way: Path2D, times: number[]): void {
    times.forEach((at, stop) => (stop === 0 ? way.moveTo(view.x(at), line(0)) : way.lineTo(view.x(at), line(stop))));
  }

  function cross(way: Path2D, x: number, y: number): void {
    way.moveTo(x - 4, y - 4);
    way.lineTo(x + 4, y + 4);
    way.moveTo(x + 4, y - 4);
    way.lineTo(x - 4, y + 4);
  }

  function shortened(name: string): string {
    return name.length <= 27 ? name : `${name.slice(0, 9)}…${name.slice(-17)}`;
  }

  /** The message whose line is nearest, at most 8 pixels away in time. */
  function nearest(x: number, y: number): number {
    const stop = (y - line(0)) / bandHeight;
    let best = -1;
    let least = 8;
    flow.messages.forEach(({ times }, i) => {
      const below = Math.min(Math.max(0, Math.floor(stop)), times.length - 1);
      if (stop < -0.2 || stop > times.length - 1 + 0.2) return;
      const [a, b] = [times[below]!, times[Math.min(below + 1, times.length - 1)]!];
      const away = Math.abs(view.x(a + (b - a) * Math.min(1, Math.max(0, stop - below))) - x);
      if (away < least) {
        least = away;
        best = i;
      }
    });
    return best;
  }

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    view.zoom(1.0018 ** (event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : 30)), Math.max(0, event.offsetX - gutter));
    moved();
  }, { passive: false });
  let held: number | null = null;
  canvas.addEventListener("pointerdown", (event) => {
    held = event.offsetX;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (held !== null) {
      view.pan(held - event.offsetX);
      held = event.offsetX;
      moved();
      return;
    }
    const next = nearest(event.offsetX - gutter, event.offsetY);
    const message = flow.messages[next];
    tip.hidden = !message;
    if (message) {
      const took = message.times.at(-1)! - message.times[0]!;
      tip.textContent = `${time(message.times[0]!, 1000)} · ${message.fate === "received" ? duration(took) : `${fates[message.fate]} behind ${printable(flow.columns[message.times.length - 1] ?? "")}`}`;
      tip.style.left = `${event.offsetX + 12}px`;
      tip.style.top = `${event.offsetY + 14}px`;
      tip.classList.toggle("leftward", event.offsetX > view.width * 0.7);
    }
    if (next !== hovered) {
      hovered = next;
      changed();
    }
  });
  canvas.addEventListener("dblclick", () => {
    location.hash = address("timeline", { from: Math.round(view.from), to: Math.round(view.to) });
  });
  canvas.addEventListener("keydown", (event) => {
    switch (event.key) {
      case "ArrowLeft": view.pan(-view.width * 0.1); break;
      case "ArrowRight": view.pan(view.width * 0.1); break;
      case "+": case "=": view.zoom(0.7, view.width / 2); break;
      case "-": view.zoom(1 / 0.7, view.width / 2); break;
      case "f": view.show(0, app.recording.duration); break;
      default: return;
    }
    event.preventDefault();
    moved();
  });
  onThemeChange(changed, signal);
  const resized = new ResizeObserver(() => {
    const width = Math.floor(stage.clientWidth);
    if (width <= gutter) return;
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    view.width = width - gutter;
    changed();
  });
  resized.observe(stage);
  signal.addEventListener("abort", () => resized.disconnect());
  say();
  return h("div", {},
    h("div", { class: "toolbar" },
      button("−", () => { view.zoom(2, view.width / 2); moved(); }, { "aria-label": "zoom out" }),
      button("+", () => { view.zoom(0.5, view.width / 2); moved(); }, { "aria-label": "zoom in" }),
      button("all", () => { view.show(0, app.recording.duration); moved(); }),
      button("in the timeline", () => { location.hash = address("timeline", { from: Math.round(view.from), to: Math.round(view.to) }); }),
      h("span", { class: "legend" }, h("i", { class: "key-received" }), "came to the end", h("i", { class: "key-lost-line" }), "× lost", h("i", { class: "key-other" }), "× not used, under way or unknown")),
    stage, said);
}
