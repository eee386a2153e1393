// Writes a page like that of `caret-bpf report`, of the made-up system: node mock/report.mjs FILE
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { makeSystem } from "./system.mjs";

const [file = "report.html"] = process.argv.slice(2);
const read = (name) => readFile(new URL(`../dist/${name}`, import.meta.url), "utf8");
const [html, script, style] = await Promise.all([read("index.html"), read("app.js"), read("app.css")]);
const system = makeSystem();
const answers = Object.fromEntries(system.reportKeys(5).map((key) => [key, key === "recording" ? { ...system.answer(key), report: true } : system.answer(key)]));
// The first part is what every page needs, as in real reports.
const parts = [Object.keys(answers).filter((key) => !key.includes("?")), Object.keys(answers).filter((key) => key.includes("?"))];
const packed = parts.map((keys) => gzipSync(JSON.stringify(Object.fromEntries(keys.map((key) => [key, answers[key]])))).toString("base64"));
const contents = [
  `<script type="application/json" id="contents">${JSON.stringify({ format: 2, parts })}</script>`,
  ...packed.map((part) => `<script type="application/octet-stream;gzip+base64" class="answers">${part}</script>`),
].join("");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:`;
await writeFile(file, html
  .replace('<meta charset="utf-8">', (meta) => `${meta}\n<meta http-equiv="Content-Security-Policy" content="${policy}">`)
  .replace('<link rel="stylesheet" href="app.css">', () => `<style>${style}</style>`)
  .replace('<script src="app.js"></script>', () => `${contents}\n<script>${script}</script>`));
