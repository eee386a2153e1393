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
import { address, changeAddress, timesParameter } from "./router";
import { color, onThemeChange } from "./theme";
import { tickStep, ticks } from "./ticks";
import { hatch } from "./timeline/hatch";
import { Viewport } from "./timeline/viewport";
import { lossesLack } from "./views/page";

const gutter = 190;
const axisHeight = 22;
const bandHeight = 42;

export interface FlowPanel { element: HTMLElement; ready: Promise<void>; offer: (windows: Window[]) => void }

/** A part of the time, and why one would look there. */
export interface Window { from: number; to: number; why: string }

/** Which part of the time is shown is in the address. */
export function flowPanel(app: App, path: Path | null, text: string, losses: Losses | null, parameters: URLSearchParams, signal: AbortSignal): FlowPanel {
  const { source, recording } = app;
  const place = h("div");
  const windows = h("div", { class: "toolbar" });
  let scope: AbortController | null = null;

  const asked = timesParameter(parameters, recording.duration);
  const isHeld = source.holds(flowKey(text, asked.from, asked.to));
  // A report has some parts only: then the whole is asked for, and of that what the address names is shown.
  const ready = isHeld ? show(asked.from, asked.to) : show(0, recording.duration, asked);
  const held = path?.text === text ? path.flows : undefined;
  if (held) offer(held);

  function offer(offered: Window[]): void {
    const whole = { from: 0, to: recording.duration, why: "whole recording" };
    const others = offered.filter(({ from, to }) => (from > 0 || to < recording.duration) && source.holds(flowKey(text, from, to)));
    if (others.length > 0) windows.replaceChildren(...[whole, ...others].map(({ from, to, why }) => button(printable(why), () => {
      noteTimes(app, from, to);
      void show(from, to);
    })));
  }

  function show(from: number, to: number, within = { from, to }): Promise<void> {
    scope?.abort();
    scope = new AbortController();
    const inner = scope.signal;
    signal.addEventListener("abort", () => scope?.abort(), { signal: inner });
    const key = flowKey(text, from, to);
    return fillWith(place, () => source.get<Flow>(key, inner), (flow) => [
      picture(app, flow, within.from, within.to, losses?.rows ?? [], inner, (a, b) => {
        const [begin, end] = [Math.max(0, Math.floor(a)), Math.min(recording.duration, Math.ceil(b))];
        return source.holds(flowKey(text, begin, end)) ? source.get<Flow>(flowKey(text, begin, end), inner) : null;
      }),
    ], inner);
  }
  const lack = lossesLack(losses);
  return { element: h("div", {}, windows, lack ? h("p", { class: "quiet" }, lack) : null, place), ready, offer: (offered) => { if (!held) offer(offered); } };
}

/** Notes in the address what is shown. */
function noteTimes({ recording }: App, from: number, to: number): void {
  const isAll = from <= 0 && to >= recording.duration;
  changeAddress({ begin: isAll ? null : Math.round(from), end: isAll ? null : Math.round(to) });
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
  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-roledescription": "message flow" });
  const stage = h("div", { class: "flow" }, canvas);
  stage.style.height = `${height}px`;
  const tip = h("div", { class: "tip", hidden: true });
  stage.append(tip);
  const said = h("p", { class: "quiet", role: "status" });
  const chosenWay = h("div", { class: "hidden", role: "status" });
  const pen = canvas.getContext("2d")!;
  let frame = 0;
  let hovered = -1;
  let lostPattern: CanvasPattern | null = null;

  function say(): void {
    said.textContent = flowSays(flow);
    canvas.setAttribute("aria-label", `Message flow. ${said.textContent} Arrows right and left move, plus and minus zoom, f shows everything, arrows down and up choose ways, Enter shows the chosen one in the timeline, Escape lets go.`);
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
      if (!signal.aborted) noteTimes(app, a, b);
      const answer = finer(a, b);
      if (!answer || signal.aborted) return;
      try {
        const next = await answer;
        if (signal.aborted || view.from !== a || view.to !== b) return;
        const chosen = flow.messages[hovered];
        flow = next;
        hovered = chosen ? flow.messages.findIndex(({ times }) => times.length === chosen.times.length && times[0] === chosen.times[0]) : -1;
        if (hovered < 0) tip.hidden = true;
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
    const pattern = (lostPattern ??= hatch(pen, lost, devicePixelRatio));
    for (const loss of losses) {
      const [left, right] = [view.x(loss.begin), view.x(loss.end ?? loss.begin)];
      if (right < 0 || left > width) continue;
      pen.fillStyle = pattern;
      pen.fillRect(left, axisHeight, right - left, height);
      pen.fillStyle = lost;
      pen.fillRect(Math.round(left), axisHeight, 2, height);
      if (right - left > 4) pen.fillRect(Math.round(right) - 2, axisHeight, 2, height);
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
    choose(nearest(event.offsetX - gutter, event.offsetY), event.offsetX, event.offsetY);
  });

  function choose(next: number, x: number, y: number): void {
    const message = flow.messages[next];
    tip.hidden = !message;
    if (message) {
      const took = message.times.at(-1)! - message.times[0]!;
      tip.textContent = `${time(message.times[0]!, 1000)} · ${message.fate === "received" ? duration(took) : `${fates[message.fate]} behind ${printable(flow.columns[message.times.length - 1] ?? "")}`}`;
      tip.style.left = `${x + 12}px`;
      tip.style.top = `${y + 14}px`;
      tip.classList.toggle("leftward", x > view.width * 0.7);
    }
    if (next !== hovered) {
      hovered = next;
      changed();
    }
  }

  /** Chooses the way that begins behind or before the chosen one, or else the first or last one in sight. */
  function step(by: 1 | -1): void {
    const order = flow.messages.map((_, i) => i).sort((a, b) => flow.messages[a]!.times[0]! - flow.messages[b]!.times[0]! || a - b);
    const isInSight = (i: number) => flow.messages[i]!.times[0]! >= view.from && flow.messages[i]!.times[0]! <= view.to;
    const next = hovered >= 0 ? order[order.indexOf(hovered) + by] : by > 0 ? order.find(isInSight) : order.filter(isInSight).at(-1);
    const message = flow.messages[next ?? -1];
    if (next === undefined || !message) return;
    const begin = message.times[0]!;
    if (!isInSight(next)) {
      view.show(begin - view.span / 2, begin + view.span / 2);
      moved();
    }
    choose(next, gutter + view.x(begin), line(0));
    chosenWay.textContent = tip.textContent;
  }

  /** Where keys zoom: at the chosen way, which stays in sight, else in the middle. */
  function anchor(): number {
    const message = flow.messages[hovered];
    return message ? Math.min(Math.max(0, view.x(message.times[0]!)), view.width) : view.width / 2;
  }

  function enter(): void {
    const message = flow.messages[hovered];
    if (!message) return;
    const [begin, end] = [message.times[0]!, message.times.at(-1)!];
    const margin = Math.max(1000, (end - begin) * 0.3);
    location.hash = address("timeline", { from: Math.round(Math.max(0, begin - margin)), to: Math.round(end + margin) });
  }

  canvas.addEventListener("dblclick", () => {
    location.hash = address("timeline", { from: Math.round(view.from), to: Math.round(view.to) });
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const choosing: Record<string, () => void> = { ArrowDown: () => step(1), ArrowUp: () => step(-1), Enter: enter, Escape: () => choose(-1, 0, 0) };
    if (Object.hasOwn(choosing, event.key)) {
      event.preventDefault();
      return choosing[event.key]!();
    }
    switch (event.key) {
      case "ArrowLeft": view.pan(-view.width * 0.1); break;
      case "ArrowRight": view.pan(view.width * 0.1); break;
      case "+": case "=": view.zoom(0.7, anchor()); break;
      case "-": view.zoom(1 / 0.7, anchor()); break;
      case "f": view.show(0, app.recording.duration); break;
      default: return;
    }
    event.preventDefault();
    moved();
  });
  onThemeChange(() => {
    lostPattern = null;
    changed();
  }, signal);
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
      h("span", { class: "legend" }, h("i", { class: "key-received" }), "came to the end", h("i", { class: "key-lost-line" }), "× lost", h("i", { class: "key-other" }), "× not used, under way or unknown", losses.length > 0 ? h("i", { class: "key-lost" }) : null, losses.length > 0 ? "lost or not seen" : null)),
    stage, said, h("p", { class: "quiet keys" }, "Wheel zooms, drag moves. Keys: + − zoom, ← → move, f shows all, ↓ ↑ choose a way, Enter shows it in the timeline, Esc lets go."), chosenWay);
}
