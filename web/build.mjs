// Writes dist/{index.html,app.js,app.css}: what `caret-bpf view` serves, and `caret-bpf report` writes into one file.
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

await mkdir(here("dist"), { recursive: true });
await build({
  entryPoints: { app: here("src/main.ts") },
  outdir: here("dist"),
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "eof",
});
await copyFile(here("src/index.html"), here("dist/index.html"));

// Both files are put between tags of the report's HTML, which these would end.
for (const [file, end] of [["app.js", /<\/script|<!--/i], ["app.css", /<\/style/i]]) {
  if (end.test(await readFile(here(`dist/${file}`), "utf8"))) throw new Error(`dist/${file} contains ${end}, which ends it in a report`);
}
