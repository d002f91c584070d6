import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const runnersRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings/runners",
  component: lazyRouteComponent(() => loadPart(() => import("./RunnersPage")), "RunnersPage"),
});
