// Finds nodes, topics and functions by parts of their names.

import type { App } from "./app";
import { h } from "./dom";
import { printable } from "./printable";
import { address } from "./router";
import type { Recording } from "./model";

export interface Hit { kind: "node" | "topic" | "callback"; id: number; text: string; more: string; href: string }

const most = 30;

/** What has all words in its name, names that begin with them first. */
export function find(recording: Recording, text: string): Hit[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const hits: (Hit & { rank: number })[] = [];
  const add = (kind: Hit["kind"], id: number, name: string, more: string, href: string, standard: boolean) => {
    const whole = `${name} ${more}`.toLowerCase();
    if (!words.every((word) => whole.includes(word))) return;
    const own = name.toLowerCase();
    const rank = own.replace(/^\//, "").startsWith(words[0]!.replace(/^\//, "")) ? 0 : own.includes(words[0]!) ? 1 : 2;
    hits.push({ kind, id, text: printable(name), more: printable(more), href, rank: rank + (standard ? 10 : 0) });
  };
  for (const node of recording.nodes) add("node", node.id, node.name, "", address("graph", { select: `node.${node.id}` }), node.standard);
  for (const topic of recording.topics) add("topic", topic.id, topic.name, topic.type ?? "", address("graph", { select: `topic.${topic.id}` }), false);
  for (const callback of recording.callbacks) {
    add("callback", callback.id, callback.symbol ?? callback.name, callback.symbol ? callback.name : "", address("callbacks", { select: callback.id }), callback.standard);
  }
  return hits.sort((a, b) => a.rank - b.rank || (a.text < b.text ? -1 : 1)).slice(0, most);
}

/** A field with a list of what is found below it. */
export function searchField({ recording }: App): HTMLElement {
  const list = h("ul", { id: "hits", role: "listbox", "aria-label": "what was found", hidden: true });
  const field = h("input", { type: "search", placeholder: "search node, topic, function  /", role: "combobox", "aria-expanded": "false", "aria-controls": "hits", "aria-autocomplete": "list", "aria-label": "search by node, topic and function", autocomplete: "off", spellcheck: "false" });
  let hits: Hit[] = [];
  let active = 0;

  function show(): void {
    list.replaceChildren(...hits.map((hit, i) => {
      const item = h("li", { role: "option", id: `hit-${i}`, "aria-selected": String(i === active) },
        h("span", { class: "kind" }, hit.kind), h("span", { class: "name" }, hit.text), h("span", { class: "quiet" }, hit.more));
      item.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        go(hit);
      });
      return item;
    }));
    if (hits.length === 0 && field.value.trim()) list.append(h("li", { class: "quiet" }, "nothing found"));
    list.hidden = !field.value.trim();
    field.setAttribute("aria-expanded", String(!list.hidden));
    if (hits.length > 0) field.setAttribute("aria-activedescendant", `hit-${active}`);
    else field.removeAttribute("aria-activedescendant");
    list.children[active]?.scrollIntoView({ block: "nearest" });
  }

  function close(): void {
    field.value = "";
    hits = [];
    show();
  }

  function go(hit: Hit | undefined): void {
    if (!hit) return;
    close();
    field.blur();
    location.hash = hit.href;
  }

  field.addEventListener("input", () => {
    hits = find(recording, field.value);
    active = 0;
    show();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") active = Math.min(hits.length - 1, active + 1);
    else if (event.key === "ArrowUp") active = Math.max(0, active - 1);
    else if (event.key === "Enter") return go(hits[active]);
    else if (event.key === "Escape") {
      close();
      field.blur();
      return;
    } else return;
    event.preventDefault();
    show();
  });
  field.addEventListener("blur", () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
  });
  document.addEventListener("keydown", (event) => {
    const at = event.target as HTMLElement;
    if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName)) return;
    event.preventDefault();
    field.focus();
  });
  return h("div", { class: "search" }, field, list);
}
