import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/root";
import { parseNewExperimentSearch } from "./search";

export const experimentsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/experiments",
  component: lazyRouteComponent(() => import("./ExperimentsPage"), "ExperimentsPage"),
});

export const newExperimentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/experiments/new",
  validateSearch: parseNewExperimentSearch,
  component: lazyRouteComponent(() => import("./NewExperimentPage"), "NewExperimentPage"),
});

export const experimentRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/experiments/$experiment",
  component: lazyRouteComponent(() => import("./ExperimentPage"), "ExperimentPage"),
});
