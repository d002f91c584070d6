import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const treeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tree/$run",
  component: lazyRouteComponent(() => import("./TreePage"), "TreePage"),
});
