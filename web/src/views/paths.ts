// Paths: how long messages took along them, hop by hop, and the ways of single messages.

import type { App, View } from "../app";
import { isDetail } from "../columns";
import { h } from "../dom";
import { fillWith } from "../failure";
import { flowPanel, slowestWindows } from "../flow";
import { count, several } from "../format";
import { pathKey, pathsKey } from "../keys";
import type { Path, PathAnswer, Paths } from "../model";
import { pathChoice } from "../pathchoice";
import { printable } from "../printable";
import { address } from "../router";
import { lossKey } from "../plot";
import { stackedPlot } from "../stacked";
import { table } from "../table";
import { nameWholePath, partBars, pathParts } from "../why";
import { lossesOf, section } from "./page";

export const pathsView: View = async (app, element, parameters, signal) => {
  const from = parameters.get("from") ?? "";
  const to = parameters.get("to") ?? "";
  const chosen = parameters.get("path");
  const list = h("div", { class: "path-list" });
  const shown = h("div", { class: "path" });
  element.append(app.source.holds(pathsKey("a", "b")) ? search(app, from, to) : "", list, shown);

  let first: Path | undefined;
  let asked: Path | undefined;
  await fillWith(list, () => app.source.get<Paths>(from || to ? pathsKey(from, to) : "paths"), ({ paths, complete }) => {
    first = paths[0];
    asked = paths.find((path) => path.text === chosen);
    if (paths.length === 0) return h("p", { class: "quiet" }, from || to ? "No path leads from there to there." : complete ? "No path was found along which messages went." : "Among the paths that were looked at, messages went along none. There are more: name the ends of the one that you mean.");
    return pathChoice({ paths, complete }, chosen ?? first?.text, (path) => { location.hash = address("paths", { from, to, path }); });
  }, signal);

  const text = chosen ?? first?.text;
  if (!text || signal.aborted) return;
  const losses = await lossesOf(app);
  const flow = flowPanel(app, asked ?? first ?? null, text, losses, parameters, signal);
  const hops = h("div");
  shown.append(section("The ways of messages", flow.element), hops);
  await Promise.all([
    fillWith(hops, () => app.source.get<PathAnswer>(pathKey(text)), (answer) => {
      const series = Array.isArray(answer.series) ? answer.series[0] : answer.series;
      if (series) flow.offer(slowestWindows(series.t, series.total, app.recording.duration));
      const name = answer.hops.columns.indexOf("name");
      const number = answer.hops.columns.indexOf("hop");
      const hopNames = answer.hops.rows.filter((row) => Number(row[number]) > 0).map((row) => printable(String(row[name] ?? "")));
      return [
        section("Hop by hop", table({ ...answer.hops }, {
          name: "hops", caption: "latency of the path and its hops", nothing: "No message went along this path.",
          details: (column) => isDetail(column) || ["context", "rate"].includes(column),
          decorate: (cell, column, row) => {
            const whole = Number(answer.hops.rows[row]![number]) === 0;
            if (whole) cell.classList.add("strong");
            if (whole && column === "name") cell.textContent = "whole path";
          },
        })),
        series && series.t.length > 0
          ? section("Of which hops latencies consist",
            h("p", { class: "quiet" }, answer.shown < (answer.ways ?? answer.instances) ? `${several(answer.shown, "way")} of ${count(answer.ways ?? answer.instances)}: chosen by chance, and the slowest.` : several(answer.shown, "way")),
            lossKey(losses?.rows ?? [], series.t[0]!, series.t.at(-1)!),
            stackedPlot(series, hopNames, losses?.rows ?? [], signal))
          : null,
        section("Where the time went", answer.parts
          ? partBars(answer.parts, pathParts, "table", {
            name: "path-parts", caption: "parts of the latency of the path and its hops", decorate: nameWholePath(answer.parts),
          })
          : h("p", { class: "quiet" }, "That is not recorded: ", h("code", {}, "caret-bpf record --sched=full"), " does that.")),
      ].filter((part): part is HTMLElement => part !== null);
    }, signal),
    flow.ready,
  ]);
};

function search({ names, recording }: App, from: string, to: string): HTMLElement {
  const start = h("input", { name: "from", value: from, list: "path-ends", placeholder: "from topic or node", "aria-label": "from topic or node" });
  const end = h("input", { name: "to", value: to, list: "path-ends", placeholder: "to topic or node", "aria-label": "to topic or node" });
  const ends = h("datalist", { id: "path-ends" }, ...recording.topics.map((topic) => h("option", { value: names.topic(topic.id) })));
  const form = h("form", { class: "toolbar" }, start, end, h("button", {}, "find paths"), ends, from || to ? h("a", { href: "#paths" }, "all paths") : null);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address("paths", { from: start.value.trim(), to: end.value.trim() });
  });
  return form;
}
