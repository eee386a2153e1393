// Bars of a path's messages, stacked of the hops: CARET's picture of where latency arises.

import uPlot from "uplot";
import { duration, time } from "./format";
import type { Loss } from "./model";
import { paletteColor } from "./palette";
import { axis, hatchLosses, plotOf, showDuration } from "./plot";

export function stackedPlot(series: { t: number[]; hops: (number | null)[][] }, names: string[], losses: Loss[], signal: AbortSignal): HTMLElement {
  // Each message has a bar of its own, side by side: by time, bars of messages that come together would hide each
  // other.
  const messages = series.t.map((_, i) => i);
  const tops = stack(series.hops, messages.length);
  const plot = plotOf("latency of each message, stacked of its hops", (element) => new uPlot({
    width: Math.max(200, element.clientWidth),
    height: 260,
    cursor: { drag: { x: true, y: false } },
    scales: { x: { time: false, range: (_, low, high) => [low - 0.5, high + 0.5] }, y: { range: (_, __, most) => [0, (most ?? 1) * 1.06] } },
    axes: [axis((all) => all.map((i) => (Number.isInteger(i) && series.t[i] !== undefined ? time(series.t[i], 1e7) : "")), 34), axis((all) => all.map(showDuration), 78)],
    hooks: {
      draw: [hatchLosses(losses, (at, isEnd) => placeAmong(series.t, at, isEnd))],
      // The legend names the hops in their order.
      ready: [(made) => made.root.querySelectorAll<HTMLElement>(".u-legend .u-series").forEach((row, i) => { row.style.order = String(i === 0 ? 0 : names.length - i + 1); })],
    },
    series: [
      { label: "begin", value: (_, i) => (i === null || i === undefined || series.t[i] === undefined ? "–" : time(series.t[i], 1000)) },
      ...names.map((_, k): uPlot.Series => {
        const hop = names.length - 1 - k; // the highest first, so that lower ones are drawn over it
        const { fill } = paletteColor(hop);
        return { label: names[hop]!, stroke: fill, fill, width: 0, points: { show: false }, paths: uPlot.paths.bars!({ size: [1, 60] }), value: (_, __, ___, i) => (i === null ? "–" : duration(series.hops[hop]?.[i])) };
      }),
    ],
  }, [messages, ...names.map((_, k) => tops[names.length - 1 - k]!)] as uPlot.AlignedData, element), signal);
  plot.classList.add("stacked");
  return plot;
}

/** The tops of the hops when they stand on each other. A message of which a hop is not known ends below it. */
export function stack(hops: (number | null)[][], messages: number): (number | null)[][] {
  const reached: (number | null)[] = Array.from({ length: messages }, () => 0);
  return hops.map((values) => {
    for (let i = 0; i < messages; i++) {
      const value = values[i] ?? null;
      const below = reached[i]!;
      reached[i] = value === null || below === null ? null : below + value;
    }
    return [...reached];
  });
}

/**
 * Where a time is among messages side by side, which are in the order of their begins: between those before and those
 * behind it. A message that begins right then counts as within a time that begins or ends there.
 */
export function placeAmong(begins: number[], at: number, isEnd: boolean): number {
  const behind = begins.findIndex((begin) => (isEnd ? begin > at : begin >= at));
  return (behind < 0 ? begins.length : behind) - 0.5;
}
