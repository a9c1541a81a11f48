// Builds the page into src/muntin/server/static, and fails when it is larger than it may be.
//
//   node build.mjs            the page, small
//   node build.mjs --watch    the page, again after each change
//   node build.mjs --tests    the tests, for `node --test build/tests/`

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "..", "src", "muntin", "server", "static");
/** What all of the page may weigh, compressed: a slow line loads it in two seconds. */
const LIMIT = 250 * 1000;
const ENTRIES = { page: "src/main.tsx", style: "src/styles/style.css" };

const common = {
  bundle: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
  absWorkingDir: here,
};

if (process.argv.includes("--tests")) await buildTests();
else if (process.argv.includes("--watch")) await watchPage();
else await buildPage();

async function buildTests() {
  const found = (await readdir(join(here, "test"))).filter((name) => name.endsWith(".test.ts"));
  await rm(join(here, "build", "tests"), { recursive: true, force: true });
  await esbuild.build({
    ...common,
    platform: "node",
    outdir: join(here, "build", "tests"),
    outExtension: { ".js": ".mjs" },
    entryPoints: found.map((name) => join("test", name)),
  });
}

function pageOptions(minify) {
  return {
    ...common,
    entryPoints: ENTRIES,
    outdir: join(out, "assets"),
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    splitting: true,
    minify,
    metafile: true,
    legalComments: "none",
    loader: { ".svg": "dataurl" },
    define: { "process.env.NODE_ENV": minify ? '"production"' : '"development"' },
  };
}

async function buildPage() {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const result = await esbuild.build(pageOptions(true));
  await writeIndex(result.metafile);
  await writeLicenses(result.metafile);
  const sizes = await weigh();
  const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
  for (const [name, bytes] of sizes) console.log(`${kilobytes(bytes).padStart(9)}  ${name}`);
  console.log(`${kilobytes(total).padStart(9)}  together, compressed; ${kilobytes(LIMIT)} are allowed`);
  if (total > LIMIT) {
    console.error("The page is too large: find what came in with `npm ls` and the list above.");
    process.exit(1);
  }
}

async function watchPage() {
  const again = {
    name: "index",
    setup: (build) => build.onEnd((result) => result.metafile && writeIndex(result.metafile)),
  };
  const context = await esbuild.context({ ...pageOptions(false), plugins: [again] });
  await context.watch();
}

/** index.html names what was built, by names that change with the content. */
async function writeIndex(metafile) {
  const built = Object.entries(metafile.outputs);
  const named = (entry) => basename(built.find(([, output]) => output.entryPoint === entry)[0]);
  const icon = await readFile(join(here, "icon.svg"));
  const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
  await writeFile(join(out, "assets", iconName), icon);
  const text = (await readFile(join(here, "index.html"), "utf8"))
    .replace("{script}", `assets/${named(ENTRIES.page)}`)
    .replace("{style}", `assets/${named(ENTRIES.style)}`)
    .replace("{icon}", `assets/${iconName}`);
  await writeFile(join(out, "index.html"), text);
}

/** The licenses of what is in the bundles go with them, as they ask. */
async function writeLicenses(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/);
    if (found) packages.add(found[1]);
  }
  const parts = [];
  for (const name of [...packages].sort()) {
    const folder = join(here, "node_modules", name);
    const described = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((other) => /^licen[sc]e/i.test(other));
    const text = file ? await readFile(join(folder, file), "utf8") : "";
    parts.push(`${name} ${described.version} (${described.license})\n\n${text.trim()}\n`);
  }
  await writeFile(join(out, "licenses.txt"), parts.join("\n" + "-".repeat(80) + "\n\n"));
}

async function weigh() {
  const sizes = [];
  for (const entry of await readdir(out, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || entry.name === "licenses.txt") continue;
    const file = join(entry.parentPath ?? entry.path, entry.name);
    sizes.push([relative(out, file), gzipSync(await readFile(file), { level: 9 }).length]);
  }
  return sizes.sort((one, other) => other[1] - one[1]);
}

function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(1)} kB`;
}
