// A choice of one of several paths.

import { h } from "./dom";
import { several } from "./format";
import type { Paths } from "./model";
import { printable } from "./printable";

/** Shows the paths and the chosen one, which may be none of them; choose gets another one. */
export function pathChoice({ paths, complete }: Paths, chosen: string | undefined, choose: (path: string) => void): HTMLElement {
  const select = h("select", { "aria-label": "path" }, ...paths.map(({ text }) => h("option", { value: text, selected: text === chosen }, label(text))));
  if (chosen !== undefined && !paths.some(({ text }) => text === chosen)) select.append(h("option", { value: chosen, selected: true }, label(chosen)));
  select.addEventListener("change", () => choose(select.value));
  return h("label", { class: "chosen-path" }, h("span", {}, `${several(paths.length, "path")}${complete ? "" : ", the longest ones"} `), select);
}

/** `/camera → /image → /rectifier` for `[/camera]-[/image]-[/rectifier]`. */
function label(text: string): string {
  return printable(text.replace(/^\[|\]$/g, "").replaceAll("]-[", " → "));
}
