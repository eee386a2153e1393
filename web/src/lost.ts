// One statement of what the recording lacks. It is never green: that nothing is known to be missing is not praise.

import type { App } from "./app";
import { h, type Child } from "./dom";
import { count } from "./format";
import { printable } from "./printable";

export function lostSummary({ recording }: App, ...more: Child[]): HTMLElement {
  const { records, blindSpans, text } = recording.lost;
  const unknown = records === null || blindSpans === null;
  const some = (records ?? 0) > 0 || (blindSpans ?? 0) > 0;
  const figure = (value: number | null, what: string) =>
    h("div", {}, h("b", { "data-value": JSON.stringify(value) }, value === null ? "unknown" : count(value)), h("span", {}, what));
  return h("section", { class: `lost-summary ${some ? "some" : unknown ? "unknown" : "none"}`, "aria-label": "what was lost" },
    h("div", { class: "lost-figures" }, figure(records, "records lost"), figure(blindSpans, "blind spans")),
    h("p", {}, printable(text)),
    ...more);
}
