import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";
import { parseCompareSearch } from "./search";

export const compareRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/compare",
  validateSearch: parseCompareSearch,
  component: lazyRouteComponent(() => import("./ComparePage"), "ComparePage"),
});
