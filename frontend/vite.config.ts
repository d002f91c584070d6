import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import pxToRem from "postcss-pxtorem";
import { defineConfig } from "vitest/config";

const server = process.env.FORKPOINT_URL ?? "http://127.0.0.1:8700";

// Components that many pages share, but not the pages that a user sees first. A group takes what its modules import with
// it, unless a group of higher priority has it: so dialogs and fields come after the popovers and lists inside them.
const LATER = [
  { name: "popovers", test: /[\\/](Popover|Menu|FocusTrap)[\\/](?!utils)/, priority: 5 },
  { name: "segments", test: /[\\/](SegmentedControl|FloatingIndicator)[\\/]/, priority: 5 },
  {
    name: "fields",
    test: /[\\/](ScrollArea|Combobox|Select|Autocomplete|PillsInput|TagsInput|MultiSelect|Pill)[\\/](?!utils)/,
    priority: 4,
  },
  { name: "virtual", test: /[\\/]@tanstack[\\/](react-virtual|virtual-core)[\\/]/, priority: 4 },
  { name: "numbers", test: /[\\/](react-number-format|NumberInput)[\\/]/, priority: 3 },
  { name: "dialogs", test: /[\\/](react-remove-scroll|ModalBase|Modal)(-bar)?[\\/]|[\\/]ui[\\/]Dialog/, priority: 3 },
];

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  // All lengths grow with the text size that the reader has set in the browser; lines of 1 px stay thin.
  css: { postcss: { plugins: [pxToRem({ propList: ["*"], mediaQuery: true, minPixelValue: 2 })] } },
  build: {
    // The content security policy allows no inline script and no data: script.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    // For scripts/budget.mjs.
    manifest: true,
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        // Rolldown names a group's file by all pages that share it.
        chunkFileNames: ({ name }) => `assets/${name.split("~")[0]}-[hash].js`,
        // By default, every module that two pages share becomes a file: a first visit would load sixty. These groups
        // load a little too much in few files: what most pages share, and the rest by the pages that share it. The rest
        // is not merged by size: a small file would bring the libraries of the file that it joins.
        codeSplitting: {
          groups: [
            { name: "base", tags: ["$initial"], priority: 8 },
            // Small files that have nothing in common with the pages whose parts they would be merged with.
            { name: "icons", test: /[\\/]@tabler[\\/]/, minShareCount: 3, priority: 7 },
            { name: "common", test: (id) => !LATER.some(({ test }) => test.test(id)), minShareCount: 6, priority: 6 },
            ...LATER,
            { name: "api", test: /[\\/]src[\\/]api[\\/]/, minShareCount: 3, priority: 2 },
            { name: "shared", minShareCount: 3, entriesAware: true },
          ],
        },
      },
    },
  },
  server: {
    // Keep the host: the server compares it with the origin of each write.
    proxy: {
      "/api": { target: server, changeOrigin: false },
      "/ws": { target: server, changeOrigin: false, ws: true },
    },
  },
  test: {
    // An environment per file, with all modules reloaded, would take most of the time.
    isolate: false,
    // A process for each file's worker takes longer to start than a thread.
    pool: "threads",
    // The tests of Python run at the same time.
    testTimeout: 20_000,
    projects: [
      { extends: true, test: { name: "logic", environment: "node", include: ["src/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "components",
          environment: "happy-dom",
          include: ["src/**/*.test.tsx"],
          setupFiles: ["src/testing/setup.ts"],
        },
      },
    ],
  },
});
