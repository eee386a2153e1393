// Plots of values over time, and of how often values occur. uPlot draws them.

import uPlot from "uplot";
import { count, duration, time } from "./format";
import type { Loss, Series } from "./model";
import { color, onThemeChange } from "./theme";

export type Show = (value: number | null | undefined) => string;

export interface PlotOptions {
  title: string;
  show: Show;
  losses: Loss[];
  signal: AbortSignal;
  height: number;
  /** Called with the part of the time that was chosen by a drag; null for all again. */
  onRange?: (from: number, to: number) => void;
}

interface Line { label: string; values: (number | null)[]; color: string; points?: boolean; fill?: string }

/** Where the theme's colors are needed when it changes, the plot is made anew. */
export function plotOf(make: (element: HTMLElement) => uPlot, signal: AbortSignal): HTMLElement {
  const element = document.createElement("div");
  element.className = "plot";
  let plot: uPlot | null = null;
  const remake = () => {
    plot?.destroy();
    plot = make(element);
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

/** Draws what was lost behind the values. */
export function lossesBehind(losses: Loss[]): (plot: uPlot) => void {
  return (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = color("lost-shade");
    for (const loss of losses) {
      const left = plot.valToPos(loss.begin, "x", true);
      const right = plot.valToPos(loss.end ?? loss.begin, "x", true);
      ctx.fillRect(left, bbox.top, Math.max(2, right - left), bbox.height);
    }
    ctx.restore();
  };
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
  return plotOf((element) => {
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
        drawClear: [lossesBehind(options.losses), missingBelow(series.missing ?? [])],
        setSelect: [(plot) => {
          if (!options.onRange || plot.select.width < 5) return;
          options.onRange(plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x"));
        }],
      },
    }, [series.t, ...lines.map((line) => line.values)] as uPlot.AlignedData, element);
  }, options.signal);
}

/** From nothing up, because lengths are compared; below that only where values are. */
function rangeOf(low: number | null, high: number | null): uPlot.Range.MinMax {
  const [least, most] = [Math.min(0, low ?? 0), Math.max(0, high ?? 1)];
  return [least, most === least ? least + 1 : most * 1.06];
}

export function histogramPlot(histogram: { edges: number[]; counts: number[] }, options: Omit<PlotOptions, "losses" | "onRange"> & { logarithmic: boolean }): HTMLElement {
  const { edges, counts } = histogram;
  return plotOf((element) => {
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
