// What the page shows is in its address behind the #, so that it can be passed on.

export interface Route { view: string; parameters: URLSearchParams }

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#/, "");
  const question = text.indexOf("?");
  return question < 0
    ? { view: text, parameters: new URLSearchParams() }
    : { view: text.slice(0, question), parameters: new URLSearchParams(text.slice(question + 1)) };
}

/** The address of a view. Parameters without a value are left out. */
export function address(view: string, parameters: Record<string, string | number | null | undefined> = {}): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = given.map(([name, value]) => `${name}=${encodeURIComponent(value as string | number)}`).join("&");
  return query ? `#${view}?${query}` : `#${view}`;
}

/** Changes the address without a new entry in the history and without showing another view. */
export function replaceAddress(to: string): void {
  try {
    history.replaceState(null, "", to);
  } catch {
    // Browsers bound how often this may be done. The next change is written again.
  }
}

export function numberParameter(parameters: URLSearchParams, name: string): number | null {
  const text = parameters.get(name);
  if (text === null || text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}
