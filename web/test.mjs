// Bundles the tests and runs them with Node's own runner, because Node does not read TypeScript.
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const names = (await readdir(here("test"))).filter((name) => name.endsWith(".test.ts"));
const folder = await mkdtemp(here("node_modules/.tests-"));
try {
  await build({
    entryPoints: names.map((name) => join(here("test"), name)),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node18",
  });
  const files = names.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")));
  process.exitCode = spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1;
} finally {
  await rm(folder, { recursive: true });
}
