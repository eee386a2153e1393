// What differs between two recordings, as `caret-bpf diff` answers.

import type { App, View } from "../app";
import { h } from "../dom";
import { fillWith } from "../failure";
import { count } from "../format";
import type { Difference, Rows, Value } from "../model";
import { address } from "../router";
import { table } from "../table";
import { section } from "./page";

export const compareView: View = async (app, element, _, signal) => {
  const shown = h("div");
  element.append(shown);
  await fillWith(shown, () => app.source.get<Difference | null>("compare"), (difference) => {
    if (!difference) return h("p", { class: "quiet" }, "Nothing to compare with was given: ", h("code", {}, "caret-bpf view NEW --baseline OLD"), " compares.");
    const { entities, latencies, callbacks, communications } = difference;
    const verdicts = new Map<string, number>();
    for (const { verdict } of latencies) verdicts.set(String(verdict), (verdicts.get(String(verdict)) ?? 0) + 1);
    const changed = verdicts.get("changed") ?? 0;
    return [
      h("section", { class: `verdict ${changed + entities.length > 0 ? "some" : ""}` },
        h("p", {}, h("b", {}, count(changed)), ` of ${count(latencies.length)} latencies changed, `, h("b", {}, count(entities.length)), " entities came or went."),
        h("p", { class: "quiet" }, [...verdicts].map(([verdict, n]) => `${count(n)} ${verdict.replaceAll("_", " ")}`).join(" · "))),
      section("Latencies", h("p", { class: "quiet" }, "a is the baseline. A row leads to what it is of in the recording that is compared with it. Noise does not say that nothing changed: detectable percent is the least change that these recordings could have shown."),
        table(asRows(latencies), {
          name: "changes", caption: "changes of latencies", nothing: "No latency is in both recordings.",
          link: (row) => place("callbacks", callbacks[row]) ?? place("communications", communications[row]),
          decorate: (cell, column, row) => {
            if (latencies[row]!["verdict"] === "changed" && (column === "verdict" || column === "percent")) cell.classList.add(Number(latencies[row]!["change"]) > 0 ? "worse" : "better");
          },
        })),
      section("Entities that came or went", table(asRows(entities), { name: "entities", caption: "entities that came or went", nothing: "None.", details: () => false, link: (row) => entity(app, entities[row]!) })),
    ];
  }, signal);
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
