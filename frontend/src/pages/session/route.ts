import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const sessionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/replays/$session",
  component: lazyRouteComponent(() => import("./SessionPage"), "SessionPage"),
});
