// Every link of the cockpit is made here, as options for <Link {...}> and navigate(...).
import { linkOptions } from "@tanstack/react-router";
import type { RunsSearch } from "./pages/runs/search";
import type { RunSearch } from "./pages/run/search";

export const paths = {
  runs: (search: RunsSearch = {}) => linkOptions({ to: "/", search }),
  run: (run: string, search: RunSearch = {}) => linkOptions({ to: "/runs/$run", params: { run }, search }),
};

/** Pages that the server answers itself. */
export const serverPaths = {
  apiDocs: "/api/v1/docs",
  runJson: (run: string) => `/api/v1/runs/${encodeURIComponent(run)}`,
};
