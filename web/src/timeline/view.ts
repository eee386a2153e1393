// The timeline: threads, what ran in them, what they published, and which message started what.

import type { View } from "../app";
import { button, h } from "../dom";
import { failure } from "../failure";
import { count, duration, several, time } from "../format";
import { offCpuKey } from "../keys";
import { Lru } from "../lru";
import type { Losses, OffCpu } from "../model";
import { note, probe } from "../probe";
import { pollProgress } from "../progress";
import { address, numberParameter, replaceAddress } from "../router";
import { color, onThemeChange } from "../theme";
import { lossesLack } from "../views/page";
import { warningsOf } from "../warnings";
import { control } from "./controls";
import { details, executionOf, spoken } from "./details";
import { axisHeight, draw, pick, pickOffCpu, type Colors, type Scene } from "./draw";
import { Densities } from "./density";
import { levelFor } from "./grid";
import { hatch } from "./hatch";
import { layOut, type Lanes } from "./lanes";
import { Residents } from "./residents";
import { neighbour, parseSelection, writeSelection, type Selection } from "./selection";
import { kinds, says } from "./offcpu";
import { TileStore, type Found } from "./store";
import type { Exact, PreparedTile } from "./tile";
import { Viewport } from "./viewport";

/** Tiles in memory: some 200 kB each, and a picture needs six. */
const tilesBound = 128;
const gutter = 196;
/** Bins that a tile has which is not exact. */
const bins = 512;

export const timelineView: View = async (app, element, parameters, signal) => {
  const { recording, names, source } = app;
  const view = new Viewport(recording.duration);
  const from = numberParameter(parameters, "from");
  const to = numberParameter(parameters, "to");
  if (from !== null && to !== null && to > from) view.show(from, to);
  let selection = parseSelection(parameters.get("select"));
  let hovered: Selection | null = null;
  let scroll = 0;
  let losses: Losses | null = null;
  let lossesKnown = false;
  let found: Found[] = [];
  let scene: Scene | null = null;
  let lanes: Lanes = layOut(names, 0);

  const canvas = h("canvas", { tabindex: 0, role: "application", "aria-label": "Timeline of threads. Arrow keys move, plus and minus zoom, f shows everything, Enter selects a callback, Tab goes to the next one, Escape lets go." });
  const tip = h("div", { class: "tip", role: "presentation", hidden: true });
  const status = h("span", { class: "quiet", role: "status" });
  const said = h("div", { class: "hidden", "aria-live": "polite" });
  const side = h("div", { class: "side" });
  const trouble = h("div");
  const lacking = h("div");
  const messages = h("input", { type: "checkbox", checked: true });
  const schedulingKeys = h("span", { class: "legend", hidden: true }, h("i", { class: "key-preempted" }), kinds.preempted, h("i", { class: "key-blocked" }), kinds.blocked, h("i", { class: "key-woken" }), kinds.woken);
  const stage = h("div", { class: "stage" }, canvas, tip);
  element.append(
    h("div", { class: "toolbar" },
      button("−", () => zoom(2), { "aria-label": "zoom out", title: "zoom out (-)" }),
      button("+", () => zoom(0.5), { "aria-label": "zoom in", title: "zoom in (+)" }),
      button("all", fit, { title: "show the whole recording (f)" }),
      h("label", {}, messages, " messages"),
      status,
      h("span", { class: "legend" },
        h("i", { class: "key-publish" }), "publish", h("i", { class: "key-message" }), "message", h("i", { class: "key-lost" }), "lost or not seen",
        schedulingKeys)),
    trouble, lacking,
    h("div", { class: "timeline" }, stage, side),
    h("p", { class: "quiet keys" }, "Wheel zooms, drag moves, shift+wheel scrolls. Keys: + − zoom, arrows move, f shows all, Enter selects a callback, then Tab and shift+Tab go to the next and the one before, Esc lets go."),
    said);
  messages.addEventListener("change", () => changed());

  if (lanes.lanes.length === 0) {
    element.append(h("p", { class: "quiet" }, "No thread is known in which callbacks ran: nothing was recorded, or the programs have no callbacks that can be seen."));
  }

  const densities = new Densities(names);
  const residents = new Residents(recording.callbacks);
  const store = new TileStore(source, recording.duration, tilesBound, () => changed());
  const offCpu = new Lru<OffCpu>(16);
  const offCpuAsked = new Set<string>();
  signal.addEventListener("abort", () => {
    store.stop();
    probe.timeline = null;
  });

  const pen = canvas.getContext("2d", { alpha: false })!;
  let colors = readColors();
  let patterns: { lost: CanvasPattern; unknown: CanvasPattern } | null = null;
  const readPatterns = () => ({ lost: hatch(pen, colors.lost, devicePixelRatio), unknown: hatch(pen, colors.line, devicePixelRatio) });
  onThemeChange(() => {
    colors = readColors();
    patterns = null;
    changed();
  }, signal);

  let width = 0;
  let height = 0;
  const resized = new ResizeObserver(() => {
    const scale = devicePixelRatio;
    const box = stage.getBoundingClientRect();
    width = Math.max(gutter + 50, Math.floor(box.width));
    height = Math.max(100, Math.floor(box.height));
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    patterns = null;
    view.width = width - gutter;
    lanes = layOut(names, height - axisHeight - 8);
    changed();
  });
  resized.observe(stage);
  signal.addEventListener("abort", () => resized.disconnect());

  let frame = 0;
  let lastFrame = 0;
  function changed(): void {
    if (frame !== 0 || signal.aborted) return;
    frame = requestAnimationFrame((now) => {
      frame = 0;
      if (signal.aborted || width === 0) return;
      if (lastFrame !== 0 && now - lastFrame < 250) note(probe.frames, now - lastFrame); // a longer one was a pause
      lastFrame = now;
      const begin = performance.now();
      render();
      note(probe.draws, performance.now() - begin);
    });
  }

  let addressTimer = 0;
  function render(): void {
    const level = levelFor(recording.duration, view.span, view.width, bins, recording.levels);
    const shown = store.show(view.from, view.to, level);
    found = shown.found;
    for (const { tile } of found) residents.look(tile);
    const awaited = shown.awaited;
    const coarser = found.some((one) => one.coarserThanWanted);
    if (recording.offCpu) askOffCpu();
    const tooMany = arrowsIn(found, view) > mostArrows;
    scroll = Math.min(Math.max(0, scroll), Math.max(0, lanes.height + axisHeight - height + 8));
    scene = {
      view, lanes, scroll, width, height, gutter, duration: recording.duration, found,
      offCpu: visibleOffCpu(), losses: losses?.rows ?? [], names, selection, hovered, showMessages: messages.checked && !tooMany, colors, densities, residents,
      lostPattern: (patterns ??= readPatterns()).lost, unknownPattern: patterns.unknown,
    };
    const drawn = draw(pen, scene);
    probe.tilesHeld = store.held;
    probe.timeline = { from: view.from, to: view.to, drawn: { ...drawn, exact: drawn.exact && awaited === 0 } };
    probe.settled = lossesKnown && awaited === 0 && !store.waiting && offCpuAsked.size === 0;
    schedulingKeys.hidden = !offCpuWithin(view.from, view.to).some((times) => times !== undefined);
    waitFor(awaited > 0 && !store.error);
    const text = [
      `${time(view.from, view.span / 1000)} + ${duration(Math.round(view.span))}`,
      drawn.exact ? `${count(drawn.callbacks)} callbacks` : "share of the time in callbacks (whole height: all)",
      ...lacks(coarser, tooMany),
      awaited > 0 && !store.error ? `loading finer… ${share}` : "",
    ].filter(Boolean).join(" · ");
    if (status.textContent !== text) status.textContent = text;
    if (store.error) complain(store.error);
    warn([...new Set(found.flatMap(({ tile }) => tile.warnings))]);
    if (selection && !shownSelection) showSelection();
    clearTimeout(addressTimer);
    addressTimer = window.setTimeout(() => {
      if (!signal.aborted) replaceAddress(address("timeline", { from: Math.round(view.from), to: Math.round(view.to), select: selection && writeSelection(selection) }));
    }, 200);
  }

  let warned = "";
  function warn(warnings: string[]): void {
    if (warnings.join("\n") === warned) return;
    warned = warnings.join("\n");
    lacking.replaceChildren(...warningsOf({ warnings }));
  }

  /** What the picture does not show although it is there, in words. */
  function lacks(coarser: boolean, tooMany: boolean): string[] {
    const tiles = exactTiles();
    const omitted = Math.max(0, ...found.map(({ tile }) => (tile.exact ? 0 : tile.omitted)));
    return [
      coarser ? "finer than the report holds" : "",
      tooMany && messages.checked ? "zoom in for messages" : "",
      tiles.some((tile) => tile.more) ? "more publishes or messages than are drawn" : "",
      tiles.some((tile) => tile.longMissing) ? "messages that took longer than a second may be missing" : "",
      omitted > 0 ? `${several(omitted, "less busy thread")} hatched: zoom in` : "",
      visibleOffCpu().some((times) => times.more) ? "not all times off the CPU are drawn" : "",
      offCpuLack(),
      lossesKnown ? losses?.omitted ? lossesLack(losses) : "" : "what was lost is not known yet",
    ];
  }

  /** What is not known of times off the CPU where callbacks are drawn one by one. */
  function offCpuLack(): string {
    if (!recording.offCpu || offCpuAsked.size > 0) return "";
    const exact = found.filter(({ tile }) => tile.exact);
    const known = exact.filter((one) => offCpuOf(one) !== undefined).length;
    if (known === exact.length) return "";
    return known > 0 ? "times off the CPU are held of a part only" : "times off the CPU are not held here";
  }

  /** While tiles are awaited, tells how much is read. */
  let share = "";
  let stopProgress: (() => void) | null = null;
  function waitFor(awaits: boolean): void {
    if (awaits && !stopProgress) {
      stopProgress = pollProgress(source, (read) => {
        share = read;
        changed();
      });
    } else if (!awaits && stopProgress) {
      stopProgress();
      stopProgress = null;
      share = "";
    }
  }
  signal.addEventListener("abort", () => stopProgress?.());

  const exactTiles = () => found.map(({ tile }) => tile).filter((tile): tile is Exact & PreparedTile => tile.exact);

  function visibleOffCpu(from = view.from, to = view.to): OffCpu[] {
    return offCpuWithin(from, to).filter((times): times is OffCpu => times !== undefined);
  }

  /** Undefined where it has not come, or is not held. */
  function offCpuOf({ address: at }: Found): OffCpu | undefined {
    const times = offCpu.peek(offCpuKey(at.level, at.index));
    return times === nothing ? undefined : times;
  }

  /** One for each tile that is drawn. */
  function offCpuWithin(from: number, to: number): (OffCpu | undefined)[] {
    return found.filter((one) => one.from <= to && one.to >= from).map(offCpuOf);
  }

  function askOffCpu(): void {
    for (const { address: at, tile } of found) {
      const key = offCpuKey(at.level, at.index);
      if (!tile.exact || offCpu.peek(key) || offCpuAsked.has(key) || !source.holds(key) || offCpuAsked.size > 8) continue;
      offCpuAsked.add(key);
      source.get<OffCpu>(key, signal).then((times) => {
        offCpu.set(key, times);
        offCpuAsked.delete(key);
        if (!side.contains(document.activeElement)) shownSelection = false; // more may be said of it now
        changed();
      }, () => {
        offCpuAsked.delete(key);
        offCpu.set(key, nothing); // not asked again and again: the lane stays without
      });
    }
  }

  let shownSelection = false;
  function select(next: Selection | null, intoView = false): void {
    selection = next;
    shownSelection = false;
    side.replaceChildren();
    said.textContent = "";
    if (next && intoView && (next.begin < view.from || next.begin > view.to)) view.show(next.begin - view.span / 2, next.begin + view.span / 2);
    if (next) scrollTo(next);
    changed();
  }

  function scrollTo({ thread }: Selection): void {
    const lane = lanes.byThread.get(thread);
    if (!lane) return;
    if (lane.top < scroll) scroll = lane.top - 20;
    if (lane.top + lane.height + axisHeight > scroll + height) scroll = lane.top + lane.height + axisHeight - height;
  }

  function showSelection(): void {
    const execution = selection && executionOf(exactTiles(), selection);
    if (!execution) return;
    shownSelection = true;
    said.textContent = spoken(app, execution);
    const off = offCpuWithin(execution.begin, execution.end ?? execution.begin);
    side.replaceChildren(details(app, execution, exactTiles(), off.every((times) => times !== undefined) ? off : null, {
      show: (a, b) => {
        view.show(a - (b - a) * 0.3, b + (b - a) * 0.3);
        changed();
      },
      close: () => {
        select(null);
        canvas.focus();
      },
    }));
  }

  function zoom(factor: number): void {
    view.zoom(factor, view.width / 2);
    changed();
  }

  function fit(): void {
    view.show(0, recording.duration);
    changed();
  }

  control(canvas, {
    view,
    gutter,
    changed,
    fit,
    scroll: (pixels) => { scroll += pixels; },
    hover: (x, y) => {
      const next = scene && x >= 0 ? pick(scene, x, y) : null;
      const execution = next && executionOf(exactTiles(), next);
      const offTheCpu = !execution && scene && x >= 0 ? pickOffCpu(scene, x, y) : null;
      tip.hidden = !execution && !offTheCpu;
      if (execution || offTheCpu) {
        tip.textContent = execution
          ? `${names.callback(execution.callback)} · ${execution.end === null || execution.status === "start_missing" ? "duration unknown" : duration(execution.end - execution.begin)}`
          : says(offTheCpu!.times, offTheCpu!.i);
        tip.style.left = `${Math.min(x + 12, width - 12)}px`;
        tip.style.top = `${y + 16}px`;
        tip.classList.toggle("leftward", x > width * 0.6);
      }
      if (next?.begin === hovered?.begin && next?.thread === hovered?.thread && next?.depth === hovered?.depth) return;
      hovered = next;
      changed();
    },
    choose: (x, y) => select(scene && pick(scene, x, y)),
    step: (by) => {
      if (!selection) return false;
      const next = neighbour(exactTiles(), selection, by);
      if (next) select(next, true);
      return true; // at the ends of what is drawn Tab stays: Esc lets go
    },
    enter: () => {
      if (!selection) return select(firstIn(exactTiles(), view, lanes.lanes.map((lane) => lane.thread)));
      const execution = executionOf(exactTiles(), selection);
      if (execution) view.show(execution.begin - (spanOf(execution) * 0.5), execution.begin + spanOf(execution) * 1.5);
    },
    escape: () => {
      if (!selection) return false;
      select(null);
      return true;
    },
  });

  /** Says what did not come, once, and asks for all of it again where one wants that. */
  function complain(error: unknown): void {
    if (trouble.childElementCount > 0) return;
    trouble.append(failure(error, () => {
      trouble.replaceChildren();
      store.retry();
      void askLosses();
      changed();
    }));
  }

  async function askLosses(): Promise<void> {
    if (lossesKnown) return;
    try {
      losses = await source.get<Losses>("losses");
      lossesKnown = true;
      changed();
    } catch (error) {
      complain(error);
    }
  }

  changed();
  await askLosses();
};

/** Arrows that are drawn at once: more cannot be told apart. */
const mostArrows = 1500;

function arrowsIn(found: Found[], view: Viewport): number {
  let arrows = 0;
  for (const { tile } of found) {
    if (!tile.exact) continue;
    const { fromTime, toTime } = tile.messages;
    for (let i = 0; i < toTime.length; i++) if (toTime[i]! >= view.from && fromTime[i]! <= view.to) arrows++;
  }
  return arrows;
}

const nothing: OffCpu = { thread: [], kind: [], from: [], to: [], other: [] };
const spanOf = (execution: { begin: number; end: number | null }) => Math.max(1000, (execution.end ?? execution.begin) - execution.begin);

function firstIn(tiles: Exact[], view: Viewport, threads: number[]): Selection | null {
  for (const thread of threads) {
    for (const tile of tiles) {
      for (const i of tile.byThread.get(thread) ?? []) {
        const begin = tile.begin[i]!;
        if (begin >= view.from && begin <= view.to) return { thread, begin, depth: tile.depth[i]! };
      }
    }
  }
  return null;
}

function readColors(): Colors {
  return {
    background: color("panel"), lane: color("lane"), text: color("text"), quiet: color("quiet"), line: color("line"), lost: color("lost"),
    accent: color("accent"), message: color("message"), preempted: color("preempted"), blocked: color("blocked"), woken: color("wakeup"),
  };
}
