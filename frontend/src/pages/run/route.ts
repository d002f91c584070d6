import { queryClient } from "@/api/client";
import { runQuery, stepsFromQuery } from "@/api/runs/runs";
import { transcriptQuery, windowOf } from "@/api/runs/transcripts";
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";
import { parseRunSearch } from "./search";

const reportedByPage = () => undefined;

export const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/runs/$run",
  validateSearch: parseRunSearch,
  // Data is requested while the page's code loads.
  loader: ({ params, cause, location }) => {
    queryClient.query(runQuery(params.run)).catch(reportedByPage);
    queryClient.query(stepsFromQuery(params.run, 1)).catch(reportedByPage);
    // The texts of a run that a pointer only passes by are not requested.
    const { step = 1, view = "transcript" } = parseRunSearch(location.search);
    if (cause === "enter" && view === "transcript") {
      queryClient.query(transcriptQuery(params.run, windowOf(step))).catch(reportedByPage);
    }
  },
  component: lazyRouteComponent(() => loadPart(() => import("./RunPage")), "RunPage"),
});

export const sharedRunRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/share/$token/run",
  validateSearch: parseRunSearch,
  component: lazyRouteComponent(() => loadPart(() => import("./SharedRun")), "SharedRun"),
});
