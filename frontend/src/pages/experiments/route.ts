import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";
import { parseNewExperimentSearch } from "./search";

export const newExperimentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/experiments/new",
  validateSearch: parseNewExperimentSearch,
  component: lazyRouteComponent(() => loadPart(() => import("./new/NewExperimentPage")), "NewExperimentPage"),
});

export const sharedExperimentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/share/$token/experiment",
  component: lazyRouteComponent(() => loadPart(() => import("./results/SharedExperiment")), "SharedExperiment"),
});

export const experimentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/experiments/$experiment",
  component: lazyRouteComponent(() => loadPart(() => import("./results/ExperimentPage")), "ExperimentPage"),
});
