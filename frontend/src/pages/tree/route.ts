import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const treeRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/tree/$run",
  component: lazyRouteComponent(() => loadPart(() => import("./TreePage")), "TreePage"),
});
