// Writes dist/{index.html,app.js,app.css}: what `caret-bpf view` serves, and `caret-bpf report` writes into one file.
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

await mkdir(here("dist"), { recursive: true });
const { metafile } = await build({
  absWorkingDir: here("."),
  entryPoints: { app: "src/main.ts" },
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  metafile: true,
});
await copyFile(here("src/index.html"), here("dist/index.html"));

// The licenses of what is bundled ask that they go along.
const packages = new Set(Object.keys(metafile.inputs).flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []));
const bundled = [...packages, "@dagrejs/graphlib"].sort(); // dagre's file has graphlib in it
const licenses = await Promise.all([...new Set(bundled)].map(async (name) => `${name}\n\n${(await readFile(here(`node_modules/${name}/LICENSE`), "utf8")).trim()}`));
await writeFile(here("dist/app.js"), `${await readFile(here("dist/app.js"), "utf8")}/*\n${licenses.join("\n\n")}\n*/\n`);

// Both files are put between tags of the report's HTML, which these would end.
for (const [file, end] of [["app.js", /<\/script|<!--/i], ["app.css", /<\/style/i]]) {
  if (end.test(await readFile(here(`dist/${file}`), "utf8"))) throw new Error(`dist/${file} contains ${end}, which ends it in a report`);
}
