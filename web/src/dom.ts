// Makes elements. All text becomes text nodes, so names of recorded programs are never read as HTML.

type Value = string | number | boolean | null | undefined;
export type Child = Node | string | null | undefined;

const svgNamespace = "http://www.w3.org/2000/svg";

function fill<E extends Element>(element: E, attributes: Record<string, Value>, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) element.append(child);
  return element;
}

/** An HTML element. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Record<string, Value> = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, Value> = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(svgNamespace, tag), attributes, children);
}

/** A button that does something here; a link is for what has an address. */
export function button(text: string, act: () => void, attributes: Record<string, Value> = {}): HTMLButtonElement {
  const made = h("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", act);
  return made;
}
