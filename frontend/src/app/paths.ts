// All links of the cockpit, as options for <Link {...}> and navigate(...).
import { linkOptions } from "@tanstack/react-router";
import type { ActivitySearch } from "@/pages/activity/search";
import type { CompareSearch } from "@/pages/compare/search";
import type { DiffSearch } from "@/pages/diff/search";
import type { NewExperimentSearch } from "@/pages/experiments/search";
import type { LoginSearch } from "@/pages/login/search";
import type { OutcomesSearch } from "@/pages/outcomes/search";
import type { RunsSearch } from "@/pages/runs/search";
import type { RunSearch } from "@/pages/run/search";
import type { ToolsSearch } from "@/pages/tools/search";

/** The page of what a share link opens. Without a step, what is selected in the current address stays. */
function sharedPage(kind: "run" | "replay" | "tree" | "diff" | "experiment", token: string, step?: number) {
  const params = { token };
  switch (kind) {
    case "run":
      return linkOptions({ to: "/share/$token/run", params, search: step === undefined ? true : { step } });
    case "replay":
      return linkOptions({ to: "/share/$token/replay", params });
    case "tree":
      return linkOptions({ to: "/share/$token/tree", params });
    case "diff":
      return linkOptions({ to: "/share/$token/diff", params, search: true });
    case "experiment":
      return linkOptions({ to: "/share/$token/experiment", params });
    default:
      return kind satisfies never;
  }
}

export const paths = {
  runs: (search: RunsSearch = {}) => linkOptions({ to: "/", search }),
  run: (run: string, search: RunSearch = {}) => linkOptions({ to: "/runs/$run", params: { run }, search }),
  activity: (search: ActivitySearch = {}) => linkOptions({ to: "/activity", search }),
  replay: (session: string) => linkOptions({ to: "/replays/$session", params: { session } }),
  experiment: (experiment: string) => linkOptions({ to: "/experiments/$experiment", params: { experiment } }),
  newExperiment: (search: NewExperimentSearch) => linkOptions({ to: "/experiments/new", search }),
  bisection: (bisection: string) => linkOptions({ to: "/bisections/$bisection", params: { bisection } }),
  tree: (run: string) => linkOptions({ to: "/tree/$run", params: { run } }),
  diff: (diff: string, search: DiffSearch = {}) => linkOptions({ to: "/diffs/$diff", params: { diff }, search }),
  compare: (search: CompareSearch = {}) => linkOptions({ to: "/compare", search }),
  agentCalibration: (calibration: string) =>
    linkOptions({ to: "/calibrations/by-agent/$calibration", params: { calibration } }),
  calibration: (calibration: string) => linkOptions({ to: "/calibrations/$calibration", params: { calibration } }),
  tools: (search: ToolsSearch = {}) => linkOptions({ to: "/tools", search }),
  outcomes: (search: OutcomesSearch = {}) => linkOptions({ to: "/settings/outcomes", search }),
  matching: () => linkOptions({ to: "/settings/matching" }),
  retention: () => linkOptions({ to: "/settings/retention" }),
  redaction: () => linkOptions({ to: "/settings/redaction" }),
  tour: () => linkOptions({ to: "/tour" }),
  connect: () => linkOptions({ to: "/connect" }),
  settings: () => linkOptions({ to: "/settings" }),
  runners: () => linkOptions({ to: "/settings/runners" }),
  hooks: () => linkOptions({ to: "/settings/hooks" }),
  shared: sharedPage,
  login: (search: LoginSearch = {}) => linkOptions({ to: "/login", search }),
};

/** Pages that the server renders. */
export const serverPaths = {
  apiDocs: "/api/v1/docs",
  diffFile: (diff: string, format: "html" | "md" | "json") =>
    `/api/v1/diffs/${encodeURIComponent(diff)}?format=${format}`,
  experimentFile: (experiment: string, format: "csv" | "json") =>
    `/api/v1/experiments/${encodeURIComponent(experiment)}${format === "csv" ? ".csv" : ""}`,
  toolsFile: "/api/v1/tools.yaml",
  runJson: (run: string) => `/api/v1/runs/${encodeURIComponent(run)}`,
};
