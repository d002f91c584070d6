import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const retentionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/settings/retention",
  component: lazyRouteComponent(() => import("./RetentionPage"), "RetentionPage"),
});
