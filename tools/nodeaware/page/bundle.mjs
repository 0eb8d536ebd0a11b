// Makes page.html, which the command nodeaware carries, from the files beside it:
//     npm ci && npm run bundle
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL("./", import.meta.url);
const read = (name) => readFileSync(new URL(name, here), "utf8");

const { outputFiles } = await build({
  entryPoints: [new URL("main.js", here).pathname], bundle: true, minify: true, write: false, format: "iife",
  target: ["es2020"], charset: "utf8", legalComments: "none",
});
const script = outputFiles[0].text.trim();
if (/<\/script|<!--|@@/i.test(script)) throw new Error("the script would end itself, or is taken for a mark");

const licence = `/*! uPlot, with this licence:\n\n${read("node_modules/uplot/LICENSE").trim()}\n*/`;
// The test `page` finds out by this whether the page is the one of its sources.
const sources = readdirSync(here).filter((name) => /\.(js|mjs|css)$|^template\.html$|^package(-lock)?\.json$/.test(name)).sort();
const hash = createHash("sha256").update(sources.map(read).join("")).digest("hex");

const style = `${read("node_modules/uplot/dist/uPlot.min.css").trim()}\n${read("style.css").trim()}`;
const page = read("template.html").replace("<head>", `<head>\n<!-- Made by bundle.mjs; do not edit. Sources: ${hash} -->`)
  .replace("@@style@@", () => style).replace("@@script@@", () => `${licence}\n${script}`);
writeFileSync(new URL("page.html", here), page);
console.log(`page.html: ${Buffer.byteLength(page)} bytes`);
