import { h } from "./dom";
import { printable } from "./printable";

/** What an answer lacks, to be shown above it; nothing if it lacks nothing. */
export function warningsOf(answer: unknown): HTMLElement[] {
  const { warnings } = (answer ?? {}) as { warnings?: unknown };
  if (!Array.isArray(warnings) || warnings.length === 0) return [];
  return [h("ul", { class: "warnings", role: "note" }, ...warnings.map((warning) => h("li", {}, printable(String(warning)))))];
}
