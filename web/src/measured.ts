// What a callback, a communication or a topic took: statistics, values over time, and how often they occur.

import type { App } from "./app";
import { button, h } from "./dom";
import { exactDuration, count, duration, several, time } from "./format";
import { fillWith } from "./failure";
import { seriesKey } from "./keys";
import type { Losses, Measure, Series, Subject } from "./model";
import { changeAddress, timesParameter } from "./router";
import { lossesLack } from "./views/page";
import { histogramPlot, lossKey, seriesPlot, showDuration, showRate, type Show } from "./plot";

const measuresOf: Record<Subject, Measure[]> = {
  callback: ["latency", "period", "frequency"],
  communication: ["latency", "period", "frequency"],
  topic: ["period", "frequency"],
};

/** What is measured, and of which time, is in the address. */
export function measuredPanel(app: App, subject: Subject, id: number, losses: Losses | null, parameters: URLSearchParams, signal: AbortSignal): { element: HTMLElement; ready: Promise<void> } {
  const { recording, source } = app;
  const measures = measuresOf[subject];
  let measure: Measure = measures.find((known) => known === parameters.get("measure")) ?? measures[0]!;
  let logarithmic = parameters.get("scale") === "log";
  let { from, to } = timesParameter(parameters, recording.duration);
  const body = h("div", { class: "measured" });
  let scope: AbortController | null = null;

  // They stay while what is below them changes, so that keys go on with them.
  const tabs = measures.map((other) => button(other, () => {
    measure = other;
    changeAddress({ measure });
    void show();
  }));
  const times = h("span", { class: "quiet", role: "status" });
  const zooms = h("span", { class: "tabs", role: "group", "aria-label": "time" },
    button("‹", () => range(from - (to - from) / 2, to - (to - from) / 2), { "aria-label": "earlier" }),
    button("−", () => range(from - (to - from) / 2, to + (to - from) / 2), { "aria-label": "less close" }),
    button("+", () => range(from + (to - from) / 4, to - (to - from) / 4), { "aria-label": "closer" }),
    button("›", () => range(from + (to - from) / 2, to + (to - from) / 2), { "aria-label": "later" }),
    button("all", () => range(0, recording.duration), { "aria-label": "whole recording" }));

  function show(): Promise<void> {
    scope?.abort();
    scope = new AbortController();
    const inner = scope.signal;
    signal.addEventListener("abort", () => scope?.abort(), { signal: inner });
    measures.forEach((other, i) => tabs[i]!.setAttribute("aria-pressed", String(other === measure)));
    times.textContent = from > 0 || to < recording.duration ? `${time(from, (to - from) / 1000)} to ${time(to, (to - from) / 1000)}` : "";
    zooms.hidden = !source.holds(seriesKey(subject, id, measure, 1, 2));
    const hadFocus = body.querySelector(".plot")?.contains(document.activeElement) ?? false;
    const shown = fillWith(body, () => source.get<Series>(seriesKey(subject, id, measure, from, to), inner), (series) => [plots(series, inner)], inner);
    return hadFocus ? shown.then(() => { if (!inner.aborted) body.querySelector<HTMLElement>(".plot")?.focus(); }) : shown;
  }

  /** Shows a part of the time, which is moved into the recording. */
  function range(a: number, b: number): void {
    const length = Math.min(recording.duration, Math.max(1000, b - a));
    const begin = Math.min(Math.max(0, a), recording.duration - length);
    [from, to] = [Math.floor(begin), Math.min(recording.duration, Math.ceil(begin + length))];
    const isAll = from === 0 && to === recording.duration;
    changeAddress({ begin: isAll ? null : from, end: isAll ? null : to });
    void show();
  }

  function plots(series: Series, inner: AbortSignal): HTMLElement {
    const value = measure === "frequency" ? showRate : showDuration;
    const { statistics } = series;
    if (!statistics.count) return h("p", { class: "quiet" }, "There are no values.");
    const lack = lossesLack(losses);
    const list = h("dl", { class: "figures" });
    for (const name of ["count", "min", "mean", "p50", "p90", "p99", "max"] as const) {
      const number = statistics[name];
      list.append(h("div", {}, h("dt", {}, name), h("dd", { title: name !== "count" && number !== null && measure !== "frequency" ? exactDuration(number) : null }, name === "count" ? count(number ?? 0) : value(number))));
    }
    const canZoom = source.holds(seriesKey(subject, id, measure, 1, 2));
    return h("div", {}, list,
      lack ? h("p", { class: "quiet" }, lack) : null,
      h("h3", {}, "over time ", h("span", { class: "quiet" }, series.exact ? several(series.t.length, "value") : `${several(statistics.count, "value")} in spans of ${duration(Math.round(series.bucket ?? 0))}`,
        series.missingTotal ? ` · ${count(series.missingTotal)} without a value, marked below${series.missing && series.missing.length < series.missingTotal ? `: the first ${count(series.missing.length)}` : ""}` : "",
        canZoom ? " · drag, or press + and −, to look closer" : ""), lossKey(losses?.rows ?? [], from, to)),
      seriesPlot(series, { title: measure, show: value, losses: losses?.rows ?? [], signal: inner, height: 220, ...(canZoom ? { onRange: range } : {}) }),
      ...(series.histogram ? histogram(series.histogram, value, inner) : [h("h3", {}, "how often"), h("p", { class: "quiet" }, "not known")]));
  }

  function histogram(answer: NonNullable<Series["histogram"]>, value: Show, inner: AbortSignal): HTMLElement[] {
    const box = h("input", { type: "checkbox", checked: logarithmic });
    const place = h("div");
    let shown: AbortController | null = null;
    const plot = () => {
      shown?.abort();
      const mine = (shown = new AbortController());
      inner.addEventListener("abort", () => mine.abort(), { signal: mine.signal });
      place.replaceChildren(histogramPlot(answer, { title: measure, show: value, signal: mine.signal, height: 190, logarithmic }));
    };
    box.addEventListener("change", () => {
      logarithmic = box.checked;
      changeAddress({ scale: logarithmic ? "log" : null });
      plot();
    });
    plot();
    return [h("h3", {}, "how often ", h("label", { class: "quiet" }, box, " logarithmic")), place];
  }

  const ready = show();
  return { element: h("div", {}, h("div", { class: "tabs" }, h("span", { class: "tabs", role: "group", "aria-label": "measure" }, ...tabs), zooms, times), body), ready };
}
