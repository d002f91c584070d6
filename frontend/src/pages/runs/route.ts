import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";
import { parseRunsSearch } from "./search";

export const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  validateSearch: parseRunsSearch,
  component: lazyRouteComponent(() => import("./RunsPage"), "RunsPage"),
});
