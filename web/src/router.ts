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

/** Changes some parameters of the address of what is shown. Those without a value are left out. */
export function changeAddress(changes: Record<string, string | number | null>): void {
  const { view, parameters } = parseRoute(location.hash);
  replaceAddress(address(view, { ...Object.fromEntries(parameters), ...changes }));
}

/** What the address of what is shown says of one of its parts. */
export const fromAddress = (name: string) => parseRoute(location.hash).parameters.get(name);

/** What tables are told by the address: how they are sorted, filtered, and whether they show all columns. */
export const tableParameter = (part: "sort" | "filter" | "columns", table: string) => `${part}.${table}`;

/** The address of another place in the view that is shown, in which the tables stay as they are arranged. */
export function besides(view: string, parameters: Record<string, string | number | null | undefined>): string {
  const shown = parseRoute(location.hash);
  const arranged = [...shown.parameters].filter(([name]) => shown.view === view && /^(sort|filter|columns)\./.test(name));
  return address(view, { ...parameters, ...Object.fromEntries(arranged) });
}

/** A part of the time that parameters name; all of it if they do not. */
export function timesParameter(parameters: URLSearchParams, duration: number): { from: number; to: number } {
  const [begin, end] = [numberParameter(parameters, "begin"), numberParameter(parameters, "end")];
  if (begin === null || end === null || end <= begin || begin >= duration || end <= 0) return { from: 0, to: duration };
  return { from: Math.max(0, Math.floor(begin)), to: Math.min(duration, Math.ceil(end)) };
}

export function numberParameter(parameters: URLSearchParams, name: string): number | null {
  const text = parameters.get(name);
  if (text === null || text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : null;
}
