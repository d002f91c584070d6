import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";
import { parseRunsSearch } from "./search";

export const runsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/",
  validateSearch: parseRunsSearch,
  component: lazyRouteComponent(() => loadPart(() => import("./RunsPage")), "RunsPage"),
});
