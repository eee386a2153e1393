import assert from "node:assert/strict";
import test from "node:test";
import { authorization, takeToken } from "../src/token";

/** A tab at an address, with what it has stored. */
function tab(hash: string, stored: Map<string, string> | null) {
  const replaced: string[] = [];
  Object.assign(globalThis, {
    location: { hash, pathname: "/", search: "" },
    history: { replaceState: (_: unknown, __: string, to: string) => replaced.push(to) },
    sessionStorage: {
      getItem: (key: string) => { if (!stored) throw new Error("refused"); return stored.get(key) ?? null; },
      setItem: (key: string, value: string) => { if (!stored) throw new Error("refused"); stored.set(key, value); },
    },
  });
  assert.equal(takeToken(), hash.startsWith("#token="));
  return replaced;
}

test("the token goes from the address to the tab", () => {
  const stored = new Map<string, string>();
  assert.deepEqual(tab("#token=ABC", stored), ["/"]);
  assert.deepEqual(authorization(), { Authorization: "Bearer ABC" });
  assert.deepEqual(tab("#timeline?from=1&to=2", stored), []);
  assert.deepEqual(authorization(), { Authorization: "Bearer ABC" });
});

test("without storage the token lasts as long as the page", () => {
  assert.deepEqual(tab("#token=DEF", null), ["/"]);
  assert.deepEqual(authorization(), { Authorization: "Bearer DEF" });
  tab("#overview", null);
  assert.deepEqual(authorization(), {});
});
