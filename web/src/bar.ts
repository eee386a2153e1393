// A bar in a cell of a table, on the left of the value.

import { h } from "./dom";

export interface Part { name: string; size: number; says?: string }

/** Puts a bar of so many pixels into the cell. The parts share it by their sizes. */
export function addBar(cell: HTMLTableCellElement, width: number, parts: Part[]): void {
  const bar = h("span", { class: "bar", title: parts.flatMap(({ says }) => says ?? []).join("\n") || null });
  bar.style.width = `${width}px`;
  for (const { name, size, says } of parts) {
    if (size <= 0) continue;
    const piece = h("span", { class: `part-${name}`, "aria-label": says });
    piece.style.flexGrow = String(size);
    bar.append(piece);
  }
  cell.classList.add("barred");
  cell.replaceChildren(h("span", { class: "bar-and-value" }, bar, h("span", {}, ...cell.childNodes)));
}
