// The token that lets this tab ask for answers. `caret-bpf view` prints an address that ends in #token=…; from there it
// goes to the tab's storage, which other ports of this machine cannot read, and out of the address.

const stored = "caret-bpf-token";
let token: string | null = null;

/** Takes the token out of the address, else what this tab has kept. Tells whether the address had one. */
export function takeToken(): boolean {
  const given = /^#token=([^&]+)$/.exec(location.hash)?.[1];
  try {
    if (given) sessionStorage.setItem(stored, given);
    token = given ?? sessionStorage.getItem(stored);
  } catch {
    token = given ?? null; // without storage it lasts until the tab is loaded anew
  }
  if (given) history.replaceState(null, "", `${location.pathname}${location.search}`);
  return given !== undefined;
}

export function authorization(): Record<string, string> {
  return token ? { Authorization: `Bearer ${token}` } : {};
}
