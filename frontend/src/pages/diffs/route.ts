import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const diffsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/diffs",
  component: lazyRouteComponent(() => import("./DiffsPage"), "DiffsPage"),
});
