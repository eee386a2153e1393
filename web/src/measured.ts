// What a callback, a communication or a topic took: statistics, values over time, and how often they occur.

import type { App } from "./app";
import { button, h } from "./dom";
import { exactDuration, count, duration, several, time } from "./format";
import { fillWith } from "./failure";
import { seriesKey } from "./keys";
import type { Losses, Measure, Series, Subject } from "./model";
import { lossesLack } from "./views/page";
import { histogramPlot, seriesPlot, showDuration, showRate, type Show } from "./plot";

const measuresOf: Record<Subject, Measure[]> = {
  callback: ["latency", "period", "frequency"],
  communication: ["latency", "period", "frequency"],
  topic: ["period", "frequency"],
};

export function measuredPanel(app: App, subject: Subject, id: number, losses: Losses | null, signal: AbortSignal): { element: HTMLElement; ready: Promise<void> } {
  const { recording, source } = app;
  let measure: Measure = measuresOf[subject][0]!;
  let logarithmic = false;
  let [from, to] = [0, recording.duration];
  const tabs = h("div", { class: "tabs", role: "group", "aria-label": "measure" });
  const body = h("div", { class: "measured" });
  let scope: AbortController | null = null;

  function show(): Promise<void> {
    scope?.abort();
    scope = new AbortController();
    const inner = scope.signal;
    signal.addEventListener("abort", () => scope?.abort(), { signal: inner });
    tabs.replaceChildren(...measuresOf[subject].map((other) => button(other, () => {
      measure = other;
      void show();
    }, { "aria-pressed": String(other === measure) })));
    if (from > 0 || to < recording.duration) {
      tabs.append(h("span", { class: "quiet" }, ` ${time(from, 1e6)} to ${time(to, 1e6)} `), button("whole recording", () => range(0, recording.duration)));
    }
    return fillWith(body, () => source.get<Series>(seriesKey(subject, id, measure, from, to), inner), (series) => [plots(series, inner)], inner);
  }

  function range(a: number, b: number): void {
    [from, to] = [Math.max(0, Math.floor(a)), Math.min(recording.duration, Math.ceil(b))];
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
        canZoom ? " · drag to look closer" : "")),
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
      plot();
    });
    plot();
    return [h("h3", {}, "how often ", h("label", { class: "quiet" }, box, " logarithmic")), place];
  }

  const ready = show();
  return { element: h("div", {}, tabs, body), ready };
}
