// Plots of values over time, and of how often values occur. uPlot draws them. By keys one goes from value to value, and
// looks closer.

import uPlot from "uplot";
import { count, duration, time } from "./format";
import type { Loss, Series } from "./model";
import { color, onThemeChange } from "./theme";
import { hatch } from "./timeline/hatch";
import { h } from "./dom";

export type Show = (value: number | null | undefined) => string;

export interface PlotOptions {
  title: string;
  show: Show;
  losses: Loss[];
  signal: AbortSignal;
  height: number;
  /** Called with the part of the time that was chosen by a drag or by keys. */
  onRange?: (from: number, to: number) => void;
}

/** What keys do in a plot, for who cannot see it. */
export const plotKeys = "Arrow keys go from value to value, plus and minus look closer and less close, f shows everything.";

interface Line { label: string; values: (number | null)[]; color: string; points?: boolean; fill?: string }

/** Where the theme's colors are needed when it changes, the plot is made anew. */
export function plotOf(label: string, make: (element: HTMLElement) => uPlot, signal: AbortSignal, onRange?: (from: number, to: number) => void): HTMLElement {
  const element = h("div", { class: "plot", tabindex: 0, role: "application", "aria-roledescription": "plot", "aria-label": `${label}. ${plotKeys}` });
  const said = h("div", { class: "hidden", role: "status" });
  let plot: uPlot | null = null;
  element.addEventListener("keydown", (event) => {
    if (!plot || event.ctrlKey || event.metaKey || event.altKey || !onKey(plot, event.key, onRange)) return;
    event.preventDefault();
    said.textContent = [...plot.root.querySelectorAll(".u-legend .u-series")].map((row) => row.textContent).join(", ");
  });
  const remake = () => {
    plot?.destroy();
    plot = make(element);
    element.append(said);
  };
  const resized = new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width === 0) return;
    if (!plot) remake();
    else if (plot.width !== width) plot.setSize({ width, height: plot.height });
  });
  resized.observe(element);
  onThemeChange(remake, signal);
  signal.addEventListener("abort", () => {
    resized.disconnect();
    plot?.destroy();
  });
  return element;
}

/** Whether a key does something in a plot. */
function onKey(plot: uPlot, key: string, onRange?: (from: number, to: number) => void): boolean {
  const { min, max } = plot.scales["x"]!;
  const times = Array.from(plot.data[0]);
  if (min === undefined || max === undefined || min === null || max === null || times.length === 0) return false;
  const show = onRange ?? ((from: number, to: number) => plot.setScale("x", { min: from, max: to }));
  const chosen = plot.cursor.idx;
  const middle = chosen === null || chosen === undefined ? (min + max) / 2 : times[chosen]!;
  const zoom = (factor: number) => show(middle - (middle - min) * factor, middle + (max - middle) * factor);
  switch (key) {
    case "ArrowLeft": case "ArrowRight": choose(plot, times, key === "ArrowRight" ? 1 : -1, min, max); break;
    case "PageUp": show(min - (max - min) * 0.9, max - (max - min) * 0.9); break;
    case "PageDown": show(min + (max - min) * 0.9, max + (max - min) * 0.9); break;
    case "+": case "=": zoom(0.5); break;
    case "-": zoom(2); break;
    case "f": onRange ? onRange(-Infinity, Infinity) : show(times[0]!, times.at(-1)!); break;
    default: return false;
  }
  return true;
}

/** Puts the cursor at the value behind or before the one where it is, of those in sight. */
function choose(plot: uPlot, times: number[], step: 1 | -1, min: number, max: number): void {
  const first = times.findIndex((at) => at >= min);
  let last = times.length - 1;
  while (last >= 0 && times[last]! > max) last--;
  if (first < 0 || last < first) return;
  const now = plot.cursor.idx;
  const next = now === null || now === undefined || now < first || now > last ? (step > 0 ? first : last) : Math.min(last, Math.max(first, now + step));
  plot.setCursor({ left: plot.valToPos(times[next]!, "x"), top: plot.over.clientHeight / 2 });
}

export const axisFont = "11px system-ui, sans-serif";

export function axis(values: (values: number[]) => string[], size?: number): uPlot.Axis {
  const line = { stroke: color("line"), width: 1 };
  return { stroke: color("quiet"), font: axisFont, grid: line, ticks: { ...line, size: 4 }, values: (_, all) => values(all), ...(size ? { size } : {}) };
}

/** Ticks of one plot with as many decimals as tell them apart. */
export function timeTicks(all: number[]): string[] {
  const step = all.length > 1 ? Math.abs(all[1]! - all[0]!) : 1e9;
  return all.map((at) => time(at, step));
}

/** Draws where something was lost, hatched as in the timeline. place tells where a time is on the axis. */
export function hatchLosses(losses: Loss[], place: (time: number, isEnd: boolean) => number = (time) => time): (plot: uPlot) => void {
  return (plot) => {
    if (losses.length === 0) return;
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const pattern = hatch(ctx, color("lost"), devicePixelRatio);
    pattern.setTransform(new DOMMatrix()); // uPlot counts the pixels of the canvas
    for (const loss of losses) {
      const left = Math.round(plot.valToPos(place(loss.begin, false), "x", true));
      const right = Math.round(plot.valToPos(place(loss.end ?? loss.begin, true), "x", true));
      if (right < bbox.left || left > bbox.left + bbox.width) continue;
      ctx.fillStyle = pattern;
      if (right - left > 1) ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.fillStyle = color("lost");
      ctx.fillRect(left, bbox.top, 2, bbox.height);
      if (right - left > 4) ctx.fillRect(right - 2, bbox.top, 2, bbox.height);
    }
    ctx.restore();
  };
}

/** What the hatching means, where there is some between two times. */
export function lossKey(losses: Loss[], from: number, to: number): HTMLElement | null {
  return losses.some(({ begin, end }) => begin <= to && (end ?? begin) >= from) ? h("span", { class: "legend" }, h("i", { class: "key-lost" }), "lost or not seen") : null;
}

/** Marks at the bottom, by time, what has no value. */
function missingBelow(times: number[]): (plot: uPlot) => void {
  return ({ ctx, bbox, valToPos, scales }) => {
    const { min, max } = scales["x"]!;
    ctx.fillStyle = color("lost");
    for (const at of times) {
      if (min !== undefined && max !== undefined && min !== null && max !== null && at >= min && at <= max) ctx.fillRect(Math.round(valToPos(at, "x", true)) - 1, bbox.top + bbox.height - 10, 2, 10);
    }
  };
}

export function seriesPlot(series: Series, options: PlotOptions): HTMLElement {
  return plotOf(`${options.title} over time`, (element) => {
    const main = color("accent");
    const lines: Line[] = series.v
      ? [{ label: options.title, values: series.v, color: main, points: true }]
      : [
          { label: "max", values: series.max ?? [], color: color("lost") },
          { label: "p50", values: series.p50 ?? [], color: main },
          { label: "min", values: series.min ?? [], color: color("quiet") },
        ];
    return new uPlot({
      width: Math.max(200, element.clientWidth),
      height: options.height,
      cursor: { drag: { x: true, y: false, setScale: !options.onRange } },
      scales: { x: { time: false }, y: { range: (_, low, high) => rangeOf(low, high) } },
      axes: [axis(timeTicks, 34), axis((all) => all.map((value) => options.show(value)), 78)],
      series: [
        { label: "time", value: (_, at) => (at === null || at === undefined ? "–" : time(at, 1000)) },
        ...lines.map((line): uPlot.Series => ({
          label: line.label,
          stroke: line.color,
          width: line.points ? 0 : 1.25,
          ...(line.points ? { paths: () => null, points: { show: true, size: 3.5, fill: line.color, stroke: line.color } } : { points: { show: false } }),
          value: (_, value) => options.show(value),
        })),
      ],
      hooks: {
        drawClear: [hatchLosses(options.losses), missingBelow(series.missing ?? [])],
        setSelect: [(plot) => {
          if (!options.onRange || plot.select.width < 5) return;
          options.onRange(plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x"));
        }],
      },
    }, [series.t, ...lines.map((line) => line.values)] as uPlot.AlignedData, element);
  }, options.signal, options.onRange);
}

/** From nothing up, because lengths are compared; below that only where values are. */
function rangeOf(low: number | null, high: number | null): uPlot.Range.MinMax {
  const [least, most] = [Math.min(0, low ?? 0), Math.max(0, high ?? 1)];
  return [least, most === least ? least + 1 : most * 1.06];
}

export function histogramPlot(histogram: { edges: number[]; counts: number[] }, options: Omit<PlotOptions, "losses" | "onRange"> & { logarithmic: boolean }): HTMLElement {
  const { edges, counts } = histogram;
  return plotOf(`how often each ${options.title} occurs`, (element) => {
    const fill = color("accent");
    // Each bar spans two edges: drawn as steps, which end where the last bar does.
    const values = [...counts, counts.at(-1) ?? 0].map((n) => (options.logarithmic && n === 0 ? null : n));
    return new uPlot({
      width: Math.max(200, element.clientWidth),
      height: options.height,
      cursor: { drag: { x: true, y: false } },
      scales: { x: { time: false }, y: options.logarithmic
        ? { distr: 3, range: (_, __, most) => [0.5, Math.max(1, most ?? 1) * 1.5] }
        : { range: (_, __, most) => [0, Math.max(1, most ?? 1) * 1.06] } },
      axes: [axis((all) => all.map((value) => options.show(value)), 34), axis((all) => all.map((value) => (value !== null && Number.isInteger(value) && (!options.logarithmic || Number.isInteger(Math.log10(value))) ? count(value) : "")), 60)],
      series: [
        { label: options.title, value: (_, __, ___, i) => (i === null || i === undefined || i >= counts.length ? "–" : `${options.show(edges[i])} to ${options.show(edges[i + 1])}`) },
        { label: "count", stroke: fill, fill: `${fill}55`, width: 1, points: { show: false }, value: (_, value, __, i) => (i === null || i >= counts.length ? "–" : count(value)), paths: uPlot.paths.stepped!({ align: 1 }) },
      ],
    }, [edges, values] as uPlot.AlignedData, element);
  }, options.signal);
}

export const showDuration: Show = (value) => duration(value === null || value === undefined ? null : Math.round(value));
export const showRate: Show = (value) => (value === null || value === undefined ? "–" : `${value.toFixed(value < 10 ? 2 : 1)}/s`);
