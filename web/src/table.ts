// A table of an answer: sorted by a click, searched by a word, a page of it at a time. Each cell tells its exact value.
// How it is arranged is in the address.

import { exactly, heading, isDetail, shown, unitOf, type Unit } from "./columns";
import { button, h } from "./dom";
import { count, several } from "./format";
import type { Rows, Value } from "./model";
import { changeAddress, fromAddress, tableParameter } from "./router";
import { order } from "./sort";

/** Rows that stand in the page at once. */
export const pageSize = 1000;

export interface TableOptions {
  /** What tests and style sheets find the table by. */
  name: string;
  caption: string;
  /** Where a row leads to, by its place in the answer. */
  link?: (row: number) => string | null;
  /** Marks the selected row. */
  selected?: number | null;
  /** Instead of what columns.ts says. */
  unit?: (column: string, row: Value[]) => Unit | undefined;
  heading?: (column: string) => string | undefined;
  details?: (column: string) => boolean;
  /** Shows each row as a list, for a few rows where there is little room. */
  upright?: boolean;
  /** What else a cell shows before its text. */
  decorate?: (cell: HTMLTableCellElement, column: string, row: number) => void;
  nothing?: string;
}

export function table(answer: Rows, options: TableOptions): HTMLElement {
  const { columns, rows } = answer;
  const isLeftOut = options.details ?? isDetail;
  const headingOf = (column: string) => options.heading?.(column) ?? heading(column);
  let shownRows = rows.map((_, i) => i);
  const sortName = tableParameter("sort", options.name);
  const filterName = tableParameter("filter", options.name);
  const columnsName = tableParameter("columns", options.name);
  let sorted = parseOrder(fromAddress(sortName), columns);
  let filter = fromAddress(filterName) ?? "";
  let page = Math.max(0, Math.floor((options.selected ?? 0) / pageSize));

  const numeric = columns.map((column, c) => rows.some((row) => typeof row[c] === "number") || (unitOf(column) !== "text" && rows.every((row) => row[c] === null)));
  const head = h("tr");
  const body = h("tbody");
  const element = h("table", { "data-table": options.name, class: options.upright ? "upright" : null }, h("caption", { class: "hidden" }, options.caption), h("thead", {}, head), body);
  const said = h("span", { class: "quiet", role: "status" });
  const pages = h("span", { class: "pages" });

  columns.forEach((column, c) => {
    const cell = h("th", { scope: "col", "data-column": column, class: classes(column, c) });
    cell.append(button(headingOf(column), () => {
      const descending: boolean = sorted?.column === c ? !sorted.descending : numeric[c]!;
      sorted = { column: c, descending };
      page = 0;
      changeAddress({ [sortName]: `${descending ? "-" : ""}${column}` });
      arrange();
    }));
    head.append(cell);
  });

  function classes(column: string, c: number): string | null {
    return [numeric[c] ? "number" : "", isLeftOut(column) ? "detail" : ""].filter(Boolean).join(" ") || null;
  }

  function row(r: number): HTMLTableRowElement {
    const values = rows[r]!;
    const link = options.link?.(r) ?? null;
    const line = h("tr", { "data-row": r, class: link ? "leads" : null, "aria-current": r === options.selected ? "true" : null });
    let linked = false;
    columns.forEach((column, c) => {
      const value = values[c] ?? null;
      const unit = options.unit?.(column, values) ?? unitOf(column);
      const text = shown(column, value, unit);
      const cell = h("td", { class: classes(column, c), "data-column": column, "data-heading": options.upright ? headingOf(column) : null, "data-value": JSON.stringify(value), title: exactly(value, unit) ?? (text.length > 24 ? text : null) });
      if (link && !linked && !isLeftOut(column) && value !== null) {
        cell.append(h("a", { href: link }, text));
        linked = true;
      } else {
        cell.append(text);
      }
      options.decorate?.(cell, column, r);
      line.append(cell);
    });
    if (link) {
      line.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || getSelection()?.toString()) return;
        event.preventDefault();
        location.hash = options.link?.(r) ?? link; // tables may have been arranged since
      });
    }
    return line;
  }

  function arrange(): void {
    [...head.children].forEach((cell, c) => cell.setAttribute("aria-sort", sorted?.column !== c ? "none" : sorted.descending ? "descending" : "ascending"));
    const needle = filter.toLowerCase();
    shownRows = sorted ? order(rows, sorted.column, sorted.descending) : rows.map((_, i) => i);
    if (needle) shownRows = shownRows.filter((r) => rows[r]!.some((value) => typeof value === "string" && value.toLowerCase().includes(needle)));
    const last = Math.max(0, Math.ceil(shownRows.length / pageSize) - 1);
    page = Math.min(page, last);
    body.replaceChildren(...shownRows.slice(page * pageSize, (page + 1) * pageSize).map(row));
    said.textContent = needle ? `${count(shownRows.length)} of ${several(rows.length, "row")}` : several(rows.length, "row");
    pages.replaceChildren();
    if (last > 0) {
      const from = page * pageSize;
      pages.append(
        button("‹", () => turn(-1), { "aria-label": "rows before", disabled: page === 0 }),
        ` rows ${count(from + 1)} to ${count(Math.min(from + pageSize, shownRows.length))} `,
        button("›", () => turn(1), { "aria-label": "rows behind", disabled: page === last }),
      );
    }
  }

  function turn(by: number): void {
    page += by;
    arrange();
  }

  if (rows.length === 0) return h("p", { class: "quiet", "data-table": options.name }, options.nothing ?? "There are none.");
  arrange();

  const search = h("input", { type: "search", placeholder: "filter rows", "aria-label": `filter rows: ${options.caption}`, value: filter });
  search.addEventListener("input", () => {
    filter = search.value;
    page = 0;
    changeAddress({ [filterName]: filter || null });
    arrange();
  });
  const scroll = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": options.caption }, element);
  const bar = h("div", { class: "table-bar" }, rows.length > 5 || filter ? search : null, said, pages);
  if (columns.some(isLeftOut)) {
    const isAll = fromAddress(columnsName) === "all";
    element.classList.toggle("all-columns", isAll);
    const all = button("all columns", () => {
      const on = element.classList.toggle("all-columns");
      all.setAttribute("aria-pressed", String(on));
      changeAddress({ [columnsName]: on ? "all" : null });
    }, { "aria-pressed": String(isAll) });
    bar.append(all);
  }
  return h("div", { class: "table" }, bar, scroll);
}

/** The order that an address names: `p99` upwards, `-p99` downwards. */
export function parseOrder(text: string | null, columns: string[]): { column: number; descending: boolean } | null {
  const descending = text?.startsWith("-") ?? false;
  const column = columns.indexOf(descending ? text!.slice(1) : text ?? "");
  return column < 0 ? null : { column, descending };
}
