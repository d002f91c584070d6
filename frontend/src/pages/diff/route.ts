import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";
import { parseDiffSearch } from "./search";

export const diffRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/diffs/$diff",
  validateSearch: parseDiffSearch,
  component: lazyRouteComponent(() => loadPart(() => import("./DiffPage")), "DiffPage"),
});

export const sharedDiffRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/share/$token/diff",
  validateSearch: parseDiffSearch,
  component: lazyRouteComponent(() => loadPart(() => import("./SharedDiff")), "SharedDiff"),
});
