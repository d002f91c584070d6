import { createRouter } from "@tanstack/react-router";
import { queryClient } from "@/api/client";
import { ErrorPage } from "./ErrorPage";
import { NotFound } from "./NotFound";
import { bisectionRoute, bisectionsRoute } from "@/pages/bisect/route";
import { calibrationRoute } from "@/pages/calibrations/route";
import { compareRoute } from "@/pages/compare/route";
import { connectRoute } from "@/pages/connect/route";
import { diffRoute, shareRoute } from "@/pages/diff/route";
import { diffsRoute } from "@/pages/diffs/route";
import { experimentRoute, experimentsRoute, newExperimentRoute } from "@/pages/experiments/route";
import { hooksRoute } from "@/pages/hooks/route";
import { loginRoute } from "@/pages/login/route";
import { outcomesRoute } from "@/pages/outcomes/route";
import { redactionRoute } from "@/pages/redaction/route";
import { replaysRoute } from "@/pages/replays/route";
import { retentionRoute } from "@/pages/retention/route";
import { runRoute } from "@/pages/run/route";
import { runsRoute } from "@/pages/runs/route";
import { sessionRoute } from "@/pages/session/route";
import { settingsRoute } from "@/pages/settings/route";
import { toolsRoute } from "@/pages/tools/route";
import { treeRoute } from "@/pages/tree/route";
import { rootRoute } from "./root";

// Each page adds one route here. Its code stays in its own lazy chunk.
const routeTree = rootRoute.addChildren([
  runsRoute,
  runRoute,
  replaysRoute,
  sessionRoute,
  experimentsRoute,
  newExperimentRoute,
  experimentRoute,
  bisectionsRoute,
  bisectionRoute,
  treeRoute,
  diffsRoute,
  diffRoute,
  compareRoute,
  connectRoute,
  calibrationRoute,
  toolsRoute,
  hooksRoute,
  settingsRoute,
  outcomesRoute,
  redactionRoute,
  retentionRoute,
  shareRoute,
  loginRoute,
]);

export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  context: { queryClient },
  scrollRestoration: true,
  defaultErrorComponent: ({ error, reset }) => <ErrorPage error={error} onRetry={reset} />,
  defaultNotFoundComponent: NotFound,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
