import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";
import { parseDiffSearch } from "./search";

export const diffRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/diffs/$diff",
  validateSearch: parseDiffSearch,
  component: lazyRouteComponent(() => import("./DiffPage"), "DiffPage"),
});

export const shareRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/share/$token",
  validateSearch: parseDiffSearch,
  component: lazyRouteComponent(() => import("./sharing/SharePage"), "SharePage"),
});
