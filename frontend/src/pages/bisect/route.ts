import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const bisectionsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/bisections",
  component: lazyRouteComponent(() => import("./BisectionsPage"), "BisectionsPage"),
});

export const bisectionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/bisections/$bisection",
  component: lazyRouteComponent(() => import("./BisectionPage"), "BisectionPage"),
});
