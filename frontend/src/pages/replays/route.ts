import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const replaysRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/replays",
  component: lazyRouteComponent(() => import("./ReplaysPage"), "ReplaysPage"),
});
