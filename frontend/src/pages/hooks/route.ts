import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const hooksRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/hooks",
  component: lazyRouteComponent(() => import("./HooksPage"), "HooksPage"),
});
