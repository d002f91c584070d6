// Fails if a page that users see first loads more than its budget: compressed scripts and styles, before any click.
// What it loads is easily enlarged by accident: by one import of a dialog, or by a group in vite.config.ts.
import { existsSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath, URL } from "node:url";

const folder = fileURLToPath(new URL("../dist/", import.meta.url));
const manifest = JSON.parse(readFileSync(`${folder}.vite/manifest.json`, "utf8"));
const ENTRY = "index.html";
/** In bytes. A page also loads fonts and data (40 kB), and 0.5 kB of headers for each file: users wait for 300 kB. */
const BUDGETS = {
  "first visit": { parts: ["src/pages/tour/TourPage.tsx"], limit: 200_000 },
  "runs list": { parts: ["src/pages/runs/RunsPage.tsx", "src/pages/runs/views/ViewsMenu.tsx"], limit: 232_000 },
};

function addFiles(key, files) {
  const { file, css = [], imports = [] } = manifest[key];
  if (files.has(file)) return;
  for (const path of [file, ...css]) files.add(path);
  for (const part of imports) addFiles(part, files);
}

function sentBytes(file) {
  const copy = `${folder}${file}.br`;
  return statSync(existsSync(copy) ? copy : folder + file).size;
}

for (const [page, { parts, limit }] of Object.entries(BUDGETS)) {
  const files = new Set();
  for (const part of [ENTRY, ...parts]) addFiles(part, files);
  const total = [...files].reduce((sum, file) => sum + sentBytes(file), 0);
  if (total > limit) {
    const largest = [...files].sort((a, b) => sentBytes(b) - sentBytes(a)).slice(0, 12);
    console.error(`${page}: ${total} bytes in ${files.size} files, more than ${limit}. The largest:`);
    for (const file of largest) console.error(`  ${sentBytes(file)} ${file}`);
    process.exitCode = 1;
  }
}
