// What differs between two recordings, as `caret-bpf diff` answers.

import type { App, View } from "../app";
import { isDetail } from "../columns";
import { h } from "../dom";
import { fillWith } from "../failure";
import { count } from "../format";
import { comparedPartsKey } from "../keys";
import type { Difference, Paths, Rows, SidedRows, Value } from "../model";
import { pathChoice } from "../pathchoice";
import { address, besides } from "../router";
import { table, type TableOptions } from "../table";
import * as why from "../why";
import { section } from "./page";

export const compareView: View = async (app, element, parameters, signal) => {
  const shown = h("div");
  const parts = h("div");
  const paths = h("div");
  element.append(shown, parts, paths);
  const compared = fillWith(shown, () => app.source.get<Difference | null>("compare"), (difference) => {
    if (!difference) return h("p", { class: "quiet" }, "Nothing to compare with was given: ", h("code", {}, "caret-bpf view NEW --baseline OLD"), " compares.");
    const { entities, latencies, callbacks, communications } = difference;
    const verdicts = new Map<string, number>();
    for (const { verdict } of latencies) verdicts.set(String(verdict), (verdicts.get(String(verdict)) ?? 0) + 1);
    const changed = verdicts.get("changed") ?? 0;
    return [
      h("section", { class: `verdict ${changed + entities.length > 0 ? "some" : ""}` },
        h("p", {}, h("b", {}, count(changed)), ` of ${count(latencies.length)} latencies changed, `, h("b", {}, count(entities.length)), " entities came or went."),
        h("p", { class: "quiet" }, [...verdicts].map(([verdict, n]) => `${count(n)} ${verdict.replaceAll("_", " ")}`).join(" · "))),
      section("Latencies", h("p", { class: "quiet" }, "a is the baseline. A row leads to what it is of in the recording that is compared with it. Noise does not say that nothing changed: detectable is the least change that these recordings could have shown."),
        table(asRows(latencies), {
          name: "changes", caption: "changes of latencies", nothing: "No latency is in both recordings.", details: (column) => isDetail(column) || column === "kind",
          link: (row) => place("callbacks", callbacks[row]) ?? place("communications", communications[row]),
          decorate: (cell, column, row) => {
            if (latencies[row]!["verdict"] === "changed" && (column === "verdict" || column === "percent")) cell.classList.add(Number(latencies[row]!["change"]) > 0 ? "worse" : "better");
          },
        })),
      section("Entities that came or went", table(asRows(entities), { name: "entities", caption: "entities that came or went", nothing: "None.", details: () => false, link: (row) => entity(app, entities[row]!) })),
    ];
  }, signal);
  await Promise.all([compared, ...(app.recording.baseline ? [callbackParts(app, parts, signal), pathParts(app, paths, parameters.get("path"), signal)] : [])]);
};

const place = (view: string, id: number | null | undefined) => (id === null || id === undefined ? null : address(view, { select: id }));

/** Where a node is that came, or the node of what came: what went is not in this recording. */
function entity({ recording }: App, { change, kind, name }: Record<string, Value>): string | null {
  const node = kind === "node" ? String(name) : String(name).split(" ", 1)[0];
  const id = change === "came" ? recording.nodes.find((known) => known.name === node)?.id : undefined;
  return id === undefined ? null : address("graph", { select: `node.${id}` });
}

function asRows(objects: Record<string, Value>[]): Rows {
  const columns = Object.keys(objects[0] ?? {});
  return { columns, rows: objects.map((object) => columns.map((column) => object[column] ?? null)) };
}

/** Which part of callbacks got longer. */
function callbackParts({ source }: App, element: HTMLElement, signal: AbortSignal): Promise<void> {
  return fillWith(element, () => source.get<SidedRows | null>("comparedparts"), (answer) => section("Where the time went in callbacks",
    bothSides(answer, why.callbackParts, { name: "compared-parts", caption: "parts of the durations of callbacks in both recordings", link: (row) => place("callbacks", answer?.ids?.[row]) })), signal);
}

/** Which part of a path got longer. */
async function pathParts({ source }: App, element: HTMLElement, chosen: string | null, signal: AbortSignal): Promise<void> {
  const choice = h("div");
  const shown = h("div");
  element.append(section("Where the time went along a path", choice, shown));
  let path = chosen ?? undefined;
  await fillWith(choice, () => source.get<Paths>("paths"), (paths) => {
    path ??= paths.paths[0]?.text;
    if (path === undefined) return h("p", { class: "quiet" }, "No path was found along which messages went.");
    return pathChoice(paths, path, (next) => { location.hash = besides("compare", { path: next }); });
  }, signal);
  if (path === undefined || signal.aborted) return;
  const key = comparedPartsKey(path);
  await fillWith(shown, () => source.get<SidedRows | null>(key), (answer) => bothSides(answer, why.pathParts, {
    name: "compared-path-parts", caption: "parts of the latency of a path and its hops in both recordings", ...(answer ? { decorate: why.nameWholePath(withSides(answer)) } : {}),
  }), signal);
}

/** A table of what both sides answer: nothing is calculated of it here. */
function bothSides(answer: SidedRows | null, parts: string[], options: TableOptions): HTMLElement {
  if (!answer) return h("p", { class: "quiet" }, "Where the time went is recorded on neither side: ", h("code", {}, "caret-bpf record --sched=full"), " does that.");
  const lacking = (["a", "b"] as const).filter((side) => !answer.sides.includes(side));
  return h("div", {},
    h("p", { class: "quiet" }, `a is the baseline. Means of those of which it is known: nothing says here whether they differ by more than chance.${lacking.length > 0 ? ` Of ${lacking.join()} nothing of it is known.` : ""}`),
    why.partBars(withSides(answer), parts, answer.things, options));
}

/** The side stands behind what a row is of. */
function withSides({ columns, rows, sides }: SidedRows): Rows {
  const place = columns.indexOf("count");
  const insert = <T>(into: T[], one: T) => [...into.slice(0, place), one, ...into.slice(place)];
  return { columns: insert(columns, "recording"), rows: rows.map((row, i) => insert<Value>(row, sides[i]!)) };
}
