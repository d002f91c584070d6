import { createRouter } from "@tanstack/react-router";
import { queryClient } from "@/api/client";
import { ErrorPage } from "./ErrorPage";
import { NotFound } from "./NotFound";
import { activityRoute, bisectionsRoute, diffsRoute, experimentsRoute, replaysRoute } from "@/pages/activity/route";
import { bisectionRoute } from "@/pages/bisect/route";
import { agentCalibrationRoute, calibrationRoute, matchingRoute } from "@/pages/calibrations/route";
import { compareRoute } from "@/pages/compare/route";
import { connectRoute } from "@/pages/connect/route";
import { diffRoute, sharedDiffRoute } from "@/pages/diff/route";
import { experimentRoute, newExperimentRoute, sharedExperimentRoute } from "@/pages/experiments/route";
import { hooksRoute } from "@/pages/hooks/route";
import { loginRoute } from "@/pages/login/route";
import { outcomesRoute } from "@/pages/outcomes/route";
import { redactionRoute } from "@/pages/redaction/route";
import { retentionRoute } from "@/pages/retention/route";
import { runRoute, sharedRunRoute } from "@/pages/run/route";
import { runnersRoute } from "@/pages/runners/route";
import { runsFolderRoute, runsRoute } from "@/pages/runs/route";
import { sessionRoute, sharedReplayRoute } from "@/pages/session/route";
import { settingsRoute } from "@/pages/settings/route";
import { shareRoute } from "@/pages/share/route";
import { toolsRoute } from "@/pages/tools/route";
import { tourRoute } from "@/pages/tour/route";
import { runTreeRoute, sharedTreeRoute, treeRoute } from "@/pages/tree/route";
import { rootRoute } from "./root";

// Each page adds one route here. Its code stays in its own lazy chunk.
const routeTree = rootRoute.addChildren([
  runsRoute,
  runsFolderRoute,
  runRoute,
  activityRoute,
  replaysRoute,
  sessionRoute,
  experimentsRoute,
  newExperimentRoute,
  experimentRoute,
  bisectionsRoute,
  bisectionRoute,
  treeRoute,
  runTreeRoute,
  diffsRoute,
  diffRoute,
  compareRoute,
  connectRoute,
  tourRoute,
  agentCalibrationRoute,
  calibrationRoute,
  matchingRoute,
  toolsRoute,
  runnersRoute,
  hooksRoute,
  settingsRoute,
  outcomesRoute,
  redactionRoute,
  retentionRoute,
  shareRoute,
  sharedRunRoute,
  sharedReplayRoute,
  sharedExperimentRoute,
  sharedTreeRoute,
  sharedDiffRoute,
  loginRoute,
]);

// A page whose search changes scrolls by itself: it reveals the step that was selected, or leaves the reader in place.
let hasOtherPath = true;

export const router = createRouter({
  routeTree,
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  context: { queryClient },
  scrollRestoration: () => hasOtherPath,
  defaultErrorComponent: ({ error, reset }) => <ErrorPage error={error} onRetry={reset} />,
  defaultNotFoundComponent: NotFound,
});

router.subscribe("onBeforeLoad", ({ pathChanged }) => {
  hasOtherPath = pathChanged;
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
