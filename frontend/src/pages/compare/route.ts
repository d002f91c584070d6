import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";
import { parseCompareSearch } from "./search";

export const compareRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/compare",
  validateSearch: parseCompareSearch,
  component: lazyRouteComponent(() => loadPart(() => import("./ComparePage")), "ComparePage"),
});
