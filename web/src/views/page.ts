// Parts that several views have.

import type { App } from "../app";
import { h, type Child } from "../dom";
import type { Loss } from "../model";

export function section(title: string, ...children: Child[]): HTMLElement {
  return h("section", {}, h("h2", {}, title), ...children);
}

/**
 * What was lost, for plots that draw it behind their values. A plot without it says nothing wrong, so errors are left
 * to the view of losses.
 */
export async function lossesOf(app: App): Promise<Loss[]> {
  try {
    return (await app.source.get<{ rows: Loss[] }>("losses")).rows;
  } catch {
    return [];
  }
}
