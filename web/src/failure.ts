import { button, h } from "./dom";
import { AnswerError } from "./source";
import { warningsOf } from "./warnings";

/** Says what went wrong, in place of what was to be shown. */
export function failure(error: unknown, again?: () => void): HTMLElement {
  const text = error instanceof AnswerError ? error.message : `The page has a fault: ${String(error)}`;
  return h("div", { class: "failure", role: "alert" }, h("p", {}, text), again ? button("Try again", again) : null);
}

/** Shows the answer when it comes, below what it lacks; meanwhile that it is awaited, else why it did not come. */
export async function fillWith<T>(element: HTMLElement, answer: () => Promise<T>, show: (answer: T) => Child | Child[], signal: AbortSignal): Promise<void> {
  element.setAttribute("aria-busy", "true");
  if (!element.hasChildNodes()) element.append(h("p", { class: "quiet waiting" }, "…"));
  try {
    const given = await answer();
    const shown = show(given);
    if (!signal.aborted) element.replaceChildren(...warningsOf(given), ...[shown].flat());
  } catch (error) {
    if (!signal.aborted) element.replaceChildren(failure(error, () => void fillWith(element, answer, show, signal)));
  } finally {
    element.removeAttribute("aria-busy");
  }
}
type Child = Node | string;
