import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const server = process.env.FORKPOINT_URL ?? "http://127.0.0.1:8700";

// Libraries that most pages share, but that neither the tour nor the runs list begins with. Their own dependencies are
// part of the base, whose priority is higher.
const LATER = [
  {
    name: "fields",
    test: /[\\/](react-number-format|(NumberInput|Combobox|Select|Autocomplete|ScrollArea)[\\/](?!utils))/,
    priority: 2,
  },
  { name: "dialogs", test: /[\\/](react-remove-scroll|ModalBase|Modal)(-bar)?[\\/]/, priority: 2 },
  { name: "virtual", test: /[\\/]@tanstack[\\/](react-virtual|virtual-core)[\\/]/, priority: 2 },
];

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    // The content security policy allows no inline script and no data: script.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        // Rolldown names a group's file by all pages that share it.
        chunkFileNames: ({ name }) => `assets/${name.split("~")[0]}-[hash].js`,
        // By default, every module that two pages share becomes a file: a first visit would load sixty. These groups
        // load a little too much in few files: what most pages share, and the rest by the pages that share it.
        codeSplitting: {
          groups: [
            // Small files that have nothing in common with the pages whose parts they would be merged with.
            { name: "icons", test: /[\\/]@tabler[\\/]/, minShareCount: 3, priority: 4 },
            { name: "api", test: /[\\/]src[\\/]api[\\/]/, minShareCount: 3, priority: 2 },
            { name: "base", test: (id) => !LATER.some(({ test }) => test.test(id)), minShareCount: 12, priority: 3 },
            ...LATER,
            { name: "shared", minShareCount: 3, entriesAware: true, entriesAwareMergeThreshold: 6_000 },
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
