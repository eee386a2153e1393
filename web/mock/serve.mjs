// Serves the page like `caret-bpf view`, of the made-up system: node mock/serve.mjs [PORT]
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { makeSystem } from "./system.mjs";

const port = Number(process.argv[2] ?? 8080);
const system = makeSystem();
const types = { "index.html": "text/html", "app.js": "text/javascript", "app.css": "text/css" };
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:";
createServer(async (request, response) => {
  const path = request.url.replace(/^\//, "") || "index.html";
  response.setHeader("Content-Security-Policy", policy);
  if (path in types) {
    response.setHeader("Content-Type", types[path]);
    response.end(await readFile(new URL(`../dist/${path}`, import.meta.url)));
    return;
  }
  const answer = path.startsWith("api/") ? system.answer(path.slice(4)) : undefined;
  response.statusCode = answer === undefined ? 404 : 200;
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(answer === undefined ? { error: `there is no answer for ${path}` } : answer));
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}/`));
