import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/root";
import { parseDiffSearch } from "./search";

export const diffRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/diffs/$diff",
  validateSearch: parseDiffSearch,
  component: lazyRouteComponent(() => import("./DiffPage"), "DiffPage"),
});
