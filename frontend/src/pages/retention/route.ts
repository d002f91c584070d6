import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { loadPart } from "@/api/connection/loadPart";
import { rootRoute } from "@/app/root";

export const retentionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings/retention",
  component: lazyRouteComponent(() => loadPart(() => import("./RetentionPage")), "RetentionPage"),
});
