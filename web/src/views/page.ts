// Parts that several views have.

import type { App } from "../app";
import { h, type Child } from "../dom";
import { several } from "../format";
import type { Losses } from "../model";

export function section(title: string, ...children: Child[]): HTMLElement {
  return h("section", {}, h("h2", {}, title), ...children);
}

/** What was lost of callbacks and messages, for plots that draw it behind their values; null if that is not known. */
export async function lossesOf(app: App): Promise<Losses | null> {
  try {
    const losses = await app.source.get<Losses>("losses");
    return { ...losses, rows: losses.rows.filter(({ offCpu }) => !offCpu) };
  } catch {
    return null;
  }
}

/** What plots lack that draw these losses; nothing, if they lack nothing. */
export function lossesLack(losses: Losses | null): string {
  if (!losses) return "What was lost is not known here.";
  return losses.omitted ? `${several(losses.omitted, "more loss", "more losses")} are not drawn.` : "";
}
